# Makes PkgConfig::rocksdb the static archive if it and its compression libraries are installed.
# Then calls within RocksDB are direct and its thread-local counters need no call (a step takes 5 %
# fewer instructions), and programs need no librocksdb.so at run time.

find_library(rocksdb_archive librocksdb.a)
set(rocksdb_needs "")
foreach(library IN ITEMS snappy lz4 zstd bz2 z)
  find_library(rocksdb_${library} ${library})
  list(APPEND rocksdb_needs ${rocksdb_${library}})
endforeach()
if(rocksdb_archive AND NOT rocksdb_needs MATCHES "NOTFOUND")
  set_target_properties(PkgConfig::rocksdb PROPERTIES
    INTERFACE_LINK_LIBRARIES "${rocksdb_archive};${rocksdb_needs};${CMAKE_DL_LIBS}"
    # Replaces RocksDB's checksum function by ours (src/store/log_files.cc), and counts blocks with
    # checksum mismatches (src/store/block_faults.cc).
    INTERFACE_LINK_OPTIONS "-Wl,--wrap=_ZN7rocksdb6crc32c6ExtendEjPKcm;-Wl,--wrap=_ZN7rocksdb19VerifyBlockChecksumENS_12ChecksumTypeEPKcmRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEm")
else()
  message(WARNING "librocksdb.a or one of its compression libraries is missing, so librocksdb.so "
    "is used: reads may not detect a damaged block of a table (docs/reliability.md). Install them "
    "with `tools/setup build`.")
endif()
