# Makes PkgConfig::rocksdb the archive, where it and the libraries it compresses with are installed:
# its calls to itself then go straight, and its thread-local counters cost no call (a step takes 5 %
# fewer instructions); a program needs no librocksdb.so where it runs.

find_library(rocksdb_archive librocksdb.a)
set(rocksdb_needs "")
foreach(library IN ITEMS snappy lz4 zstd bz2 z)
  find_library(rocksdb_${library} ${library})
  list(APPEND rocksdb_needs ${rocksdb_${library}})
endforeach()
if(rocksdb_archive AND NOT rocksdb_needs MATCHES "NOTFOUND")
  set_target_properties(PkgConfig::rocksdb PROPERTIES
    INTERFACE_LINK_LIBRARIES "${rocksdb_archive};${rocksdb_needs};${CMAKE_DL_LIBS}"
    # Its checksums are computed by ours (src/store/log_files.cc), and blocks that do not match
    # theirs are counted (src/store/block_faults.cc).
    INTERFACE_LINK_OPTIONS "-Wl,--wrap=_ZN7rocksdb6crc32c6ExtendEjPKcm;-Wl,--wrap=_ZN7rocksdb19VerifyBlockChecksumENS_12ChecksumTypeEPKcmRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEm")
else()
  message(WARNING "librocksdb.a or a library it compresses with is missing, so librocksdb.so is "
    "used: a read may miss a damaged block of a table (docs/reliability.md). tools/setup build "
    "installs them.")
endif()
