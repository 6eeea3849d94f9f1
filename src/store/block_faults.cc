#include "store/block_faults.h"

#include <rocksdb/status.h>
#include <rocksdb/table.h>

namespace everstep {
namespace {

thread_local std::uint64_t faults_met = 0;
thread_local std::string last_fault;
thread_local bool is_compacting = false;
thread_local std::uint64_t faults_before = 0;  // faults_met when the compaction began

}  // namespace

std::uint64_t BlockFaultsMet() { return faults_met; }
std::string LastBlockFault() { return last_fault; }

void BeginCompaction() {
  is_compacting = true;
  faults_before = faults_met;
}
void EndCompaction() { is_compacting = false; }
std::string FaultOfCompaction() {
  return is_compacting && faults_met != faults_before ? last_fault : std::string();
}

}  // namespace everstep

// cmake/StaticRocksdb.cmake makes the linker redirect RocksDB's calls of its block verification to
// CheckBlock. RocksdbsOwnCheckBlock is the original.
#define EVERSTEP_CHECK_BLOCK                                            \
  "_ZN7rocksdb19VerifyBlockChecksumENS_12ChecksumTypeEPKcmRKNSt7__cxx1" \
  "112basic_stringIcSt11char_traitsIcESaIcEEEm"
rocksdb::Status CheckBlock(rocksdb::ChecksumType type, const char* data, std::size_t size,
                           const std::string& file,
                           std::uint64_t offset) asm("__wrap_" EVERSTEP_CHECK_BLOCK);
__attribute__((weak)) rocksdb::Status RocksdbsOwnCheckBlock(
    rocksdb::ChecksumType type, const char* data, std::size_t size, const std::string& file,
    std::uint64_t offset) asm("__real_" EVERSTEP_CHECK_BLOCK);

rocksdb::Status CheckBlock(rocksdb::ChecksumType type, const char* data, std::size_t size,
                           const std::string& file, std::uint64_t offset) {
  rocksdb::Status status = RocksdbsOwnCheckBlock(type, data, size, file, offset);
  if (!status.ok()) {
    ++everstep::faults_met;
    everstep::last_fault =
        status.getState() != nullptr ? status.getState() : "block checksum mismatch";
  }
  return status;
}
