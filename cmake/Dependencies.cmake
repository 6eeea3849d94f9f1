# docs/dependencies.md says what each is for. Tests, benchmarks and fuzz targets exist where their
# libraries do, so that a program can be built without them.

find_package(Threads REQUIRED)
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto)
find_package(simdjson 3 REQUIRED CONFIG)
# RocksDB's own package file asks for the -dev packages of libraries that the shared library already
# carries; pkg-config names just the library.
find_package(PkgConfig REQUIRED)
pkg_check_modules(rocksdb REQUIRED IMPORTED_TARGET GLOBAL rocksdb)

find_package(GTest QUIET CONFIG)
find_package(rapidcheck QUIET CONFIG)
find_package(benchmark QUIET CONFIG)

# What each layer links besides the layers below it.
set(everstep_base_needs OpenSSL::Crypto simdjson::simdjson Threads::Threads)
set(everstep_event_needs simdjson::simdjson)
set(everstep_store_needs PkgConfig::rocksdb)
set(everstep_engine_needs simdjson::simdjson Threads::Threads)
set(everstep_testing_needs simdjson::simdjson Threads::Threads)

# Headers that most files of a layer read.
set(everstep_event_precompiled ${everstep_std_headers} <simdjson.h>)
set(everstep_store_precompiled ${everstep_std_headers})
set(everstep_engine_precompiled ${everstep_std_headers})
