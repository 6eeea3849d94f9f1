# docs/dependencies.md says what each is for. Tests, benchmarks and fuzz targets exist where their
# libraries do, so that a program can be built without them.

find_package(Threads REQUIRED)
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto SSL)
find_package(ZLIB REQUIRED)
find_package(simdjson 3 REQUIRED CONFIG)
find_package(PkgConfig REQUIRED)
pkg_check_modules(rocksdb REQUIRED IMPORTED_TARGET GLOBAL rocksdb)
include(StaticRocksdb)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET GLOBAL yaml-0.1)
pkg_check_modules(curl REQUIRED IMPORTED_TARGET GLOBAL libcurl)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET GLOBAL sqlite3)
pkg_check_modules(nats REQUIRED IMPORTED_TARGET GLOBAL libnats)

find_package(GTest QUIET CONFIG)
find_package(rapidcheck QUIET CONFIG)
find_package(benchmark QUIET CONFIG)

# What each layer links besides the layers below it.
set(everstep_base_needs OpenSSL::Crypto simdjson::simdjson Threads::Threads)
set(everstep_event_needs simdjson::simdjson)
set(everstep_store_needs PkgConfig::rocksdb)
set(everstep_engine_needs simdjson::simdjson Threads::Threads)
set(everstep_flow_needs simdjson::simdjson PkgConfig::yaml)
set(everstep_net_needs PkgConfig::curl OpenSSL::SSL ZLIB::ZLIB Threads::Threads)
set(everstep_run_needs simdjson::simdjson Threads::Threads)
set(everstep_work_needs simdjson::simdjson PkgConfig::sqlite3 OpenSSL::Crypto Threads::Threads)
set(everstep_bus_needs simdjson::simdjson PkgConfig::nats Threads::Threads)
set(everstep_serve_needs simdjson::simdjson OpenSSL::Crypto Threads::Threads)
set(everstep_testing_needs simdjson::simdjson Threads::Threads)

# Headers that most files of a layer read.
set(everstep_event_precompiled ${everstep_std_headers} <simdjson.h>)
set(everstep_store_precompiled ${everstep_std_headers})
set(everstep_engine_precompiled ${everstep_std_headers})
set(everstep_flow_precompiled ${everstep_std_headers} <simdjson.h>)
set(everstep_run_precompiled ${everstep_std_headers})
set(everstep_work_precompiled ${everstep_std_headers})
set(everstep_bus_precompiled ${everstep_std_headers})
set(everstep_serve_precompiled ${everstep_std_headers})
set(everstep_net_precompiled ${everstep_std_headers})
set(everstep_client_precompiled ${everstep_std_headers})
set(everstep_testing_precompiled ${everstep_std_headers})
