# Defines everstep::rocksdb: the static archive if it and its compression libraries are installed,
# otherwise librocksdb.so. Within the archive, calls are direct and thread-local counters need no
# call (a step takes 5 % fewer instructions), and programs need no librocksdb.so at run time.
#
# A program that embeds Everstep and itself uses librocksdb.so sets EVERSTEP_STATIC_ROCKSDB to OFF
# before find_package(everstep). No link options are set: a program's own calls of RocksDB go where
# they would go without Everstep.

if(TARGET everstep::rocksdb)
  return()
endif()
if(NOT DEFINED EVERSTEP_STATIC_ROCKSDB)
  set(EVERSTEP_STATIC_ROCKSDB ON)
endif()

pkg_check_modules(everstep_rocksdb REQUIRED IMPORTED_TARGET GLOBAL rocksdb)
add_library(everstep::rocksdb INTERFACE IMPORTED GLOBAL)

if(EVERSTEP_STATIC_ROCKSDB)
  find_library(everstep_rocksdb_archive librocksdb.a)
  set(everstep_rocksdb_needs "")
  foreach(library IN ITEMS snappy lz4 zstd bz2 z)
    find_library(everstep_rocksdb_${library} ${library})
    list(APPEND everstep_rocksdb_needs ${everstep_rocksdb_${library}})
  endforeach()
  if(NOT everstep_rocksdb_archive OR everstep_rocksdb_needs MATCHES "NOTFOUND")
    message(STATUS "librocksdb.a or one of its compression libraries is missing, so librocksdb.so "
      "is used. `tools/setup build` installs them")
    set(EVERSTEP_STATIC_ROCKSDB OFF)
  endif()
endif()

if(EVERSTEP_STATIC_ROCKSDB)
  set_target_properties(everstep::rocksdb PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${everstep_rocksdb_INCLUDE_DIRS}"
    INTERFACE_LINK_LIBRARIES
      "${everstep_rocksdb_archive};${everstep_rocksdb_needs};${CMAKE_DL_LIBS}")
else()
  set_target_properties(everstep::rocksdb PROPERTIES
    INTERFACE_LINK_LIBRARIES PkgConfig::everstep_rocksdb)
endif()
