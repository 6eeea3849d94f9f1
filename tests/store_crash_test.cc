// Kills the owner of a store at each of its calls that change a file: before the call, and in the
// middle of those that write. Everything acknowledged must survive the next open, and no such crash
// may be mistaken for damage.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>

#include "store/key_value.h"
#include "store/rocksdb_key_value.h"
#include "testing/manual_clock.h"
#include "testing/temporary_directory.h"

namespace {

constexpr int kKilled = 99;

// Counts down to the call at which this process ends. Negative: never.
std::atomic<long> calls_left = -1;
bool in_the_middle = false;

// Ends the process as if by SIGKILL: nothing is flushed, no destructor runs.
[[noreturn]] void Die() {
  ::syscall(SYS_exit_group, kKilled);
  __builtin_unreachable();
}
// Returns true for the call at which the process must end.
bool IsLastCall() { return calls_left.load() >= 0 && calls_left.fetch_sub(1) == 0; }
void BeforeChange() {
  if (IsLastCall()) Die();
}

int OpenFile(const char* path, int flags, mode_t mode) {
  if ((flags & (O_CREAT | O_TRUNC)) != 0) BeforeChange();
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t WriteFileAt(int file, const void* bytes, std::size_t count, off_t at) {
  if (IsLastCall()) {
    if (in_the_middle) ::syscall(SYS_pwrite64, file, bytes, count / 2, at);
    Die();
  }
  return ::syscall(SYS_pwrite64, file, bytes, count, at);
}

}  // namespace

// The store's code and RocksDB call these instead of the C library's functions.
extern "C" {
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return OpenFile(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return OpenFile(path, flags, mode);
}
ssize_t pwrite(int file, const void* bytes, std::size_t count, off_t at) {
  return WriteFileAt(file, bytes, count, at);
}
ssize_t pwrite64(int file, const void* bytes, std::size_t count, off64_t at) {
  return WriteFileAt(file, bytes, count, at);
}
ssize_t write(int file, const void* bytes, std::size_t count) {
  if (IsLastCall()) {
    if (in_the_middle) ::syscall(SYS_write, file, bytes, count / 2);
    Die();
  }
  return ::syscall(SYS_write, file, bytes, count);
}
int fsync(int file) {
  BeforeChange();
  return static_cast<int>(::syscall(SYS_fsync, file));
}
int fdatasync(int file) {
  BeforeChange();
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}
int ftruncate(int file, off_t size) noexcept {
  BeforeChange();
  return static_cast<int>(::syscall(SYS_ftruncate, file, size));
}
int ftruncate64(int file, off64_t size) noexcept {
  BeforeChange();
  return static_cast<int>(::syscall(SYS_ftruncate, file, size));
}
int rename(const char* from, const char* to) noexcept {
  BeforeChange();
  return static_cast<int>(::syscall(SYS_rename, from, to));
}
int unlink(const char* path) noexcept {
  BeforeChange();
  return static_cast<int>(::syscall(SYS_unlink, path));
}
int mkdir(const char* path, mode_t mode) noexcept {
  BeforeChange();
  return static_cast<int>(::syscall(SYS_mkdir, path, mode));
}
}

namespace everstep {
namespace {

namespace fs = std::filesystem;

constexpr int kRowsBefore = 3;  // in a store that is not new
constexpr int kRowsEach = 2;    // written by each life before it compacts, and again after

std::string Key(int row) { return "row-" + std::to_string(row); }
std::string Value(int row) {
  return std::string(static_cast<std::size_t>(900 + row), static_cast<char>('a' + row % 26));
}

Status WriteRow(KeyValue& store, int row) {
  const auto batch = store.NewBatch();
  batch->Put(Table::kKeys, Key(row), Value(row));
  batch->Put(Table::kIndex, Key(row), "i");
  return store.Write(*batch);
}

// What an owner does from start to orderly shutdown; calls `acknowledge` after each durable row.
void Live(const std::string& directory, int first_row, const std::function<void()>& acknowledge) {
  ManualClock clock;
  auto store = OpenRocksdbKeyValue(directory, {}, clock);
  ASSERT_TRUE(store) << ToString(store.error());
  int row = first_row;
  const auto write_some = [&] {
    for (int i = 0; i < kRowsEach; ++i) {
      ASSERT_TRUE(WriteRow(**store, row++));
      acknowledge();
    }
  };
  write_some();
  ASSERT_TRUE((*store)->Compact());
  write_some();
}

struct Death {
  bool reached = false;  // the call occurred, so the process died at it
  int acknowledged = 0;
};

// Runs Live in a child process that dies at the given call.
Death LiveUntil(const std::string& directory, int first_row, long call, bool middle) {
  int orders[2];
  int answers[2];
  EXPECT_EQ(::pipe(orders), 0);
  EXPECT_EQ(::pipe(answers), 0);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, orders[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, answers[1], 3);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "/proc/self/exe";
  std::string filter = "--gtest_filter=StoreCrash.DISABLED_Life";
  std::string disabled = "--gtest_also_run_disabled_tests";
  char* const arguments[] = {program.data(), filter.data(), disabled.data(), nullptr};
  pid_t life = 0;
  EXPECT_EQ(::posix_spawn(&life, program.c_str(), &files, nullptr, arguments, environ), 0);
  ::posix_spawn_file_actions_destroy(&files);
  const std::string order = directory + " " + std::to_string(first_row) + " " +
                            std::to_string(call) + " " + std::to_string(middle) + "\n";
  EXPECT_EQ(::write(orders[1], order.data(), order.size()), static_cast<ssize_t>(order.size()));
  for (const int end : {orders[0], orders[1], answers[1]}) ::close(end);
  Death death;
  for (char byte = 0; ::read(answers[0], &byte, 1) == 1;) ++death.acknowledged;
  ::close(answers[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(life, &status, 0), life);
  EXPECT_TRUE(WIFEXITED(status)) << "call " << call;
  death.reached = WEXITSTATUS(status) == kKilled;
  EXPECT_TRUE(death.reached || WEXITSTATUS(status) == 0) << "call " << call;
  return death;
}

class StoreCrash : public testing::Test {
 protected:
  // Expects that every row up to `acknowledged` exists and nothing is damaged, also after further
  // writes.
  void ExpectIntact(const std::string& store_path, int acknowledged, const std::string& when) {
    int rows = acknowledged;
    for (int life = 0; life < 2; ++life) {
      auto store = OpenRocksdbKeyValue(store_path, {}, clock_);
      ASSERT_TRUE(store) << when << ": " << ToString(store.error());
      for (int row = 0; row < rows; ++row) {
        const auto value = (*store)->View()->Get(Table::kKeys, Key(row));
        ASSERT_TRUE(value) << when << ": " << ToString(value.error());
        ASSERT_TRUE(*value == Value(row)) << when << ": row " << row << " of " << rows;
      }
      const Status checked = (*store)->CheckFiles();
      ASSERT_TRUE(checked) << when << ": " << ToString(checked.error());
      ASSERT_TRUE(WriteRow(**store, rows++)) << when;
    }
  }

  // Kills one life at every call, each on a copy of `from`, or on an empty directory if `from` is
  // empty.
  int KillEverywhere(const std::string& from, int first_row, bool middle) {
    const std::string scratch = directory_ / "scratch";
    for (int call = 0;; ++call) {
      fs::remove_all(scratch);
      if (!from.empty()) fs::copy(from, scratch);
      const Death death = LiveUntil(scratch, first_row, call, middle);
      ExpectIntact(scratch, first_row + death.acknowledged,
                   "killed at call " + std::to_string(call));
      if (!death.reached || HasFatalFailure() || HasNonfatalFailure()) return call;
    }
  }

  TemporaryDirectory directory_;
  ManualClock clock_;
};

// Not a test by itself: the child process started by LiveUntil.
TEST_F(StoreCrash, DISABLED_Life) {
  std::string path;
  int first_row = 0;
  long call = 0;
  std::cin >> path >> first_row >> call >> in_the_middle;
  calls_left = call;
  Live(path, first_row, [] { ::syscall(SYS_write, 3, "a", 1); });
  calls_left = -1;
}

TEST_F(StoreCrash, OfANewStoreLosesNothingAcknowledged) {
  EXPECT_GT(KillEverywhere({}, 0, false), 50);
}

TEST_F(StoreCrash, OfAStoreThatWasKilledBeforeLosesNothingAcknowledged) {
  const std::string killed = directory_ / "killed";
  {
    auto store = OpenRocksdbKeyValue(directory_ / "owned", {}, clock_);
    ASSERT_TRUE(store) << ToString(store.error());
    for (int row = 0; row < kRowsBefore; ++row) ASSERT_TRUE(WriteRow(**store, row));
    fs::copy(directory_ / "owned", killed);
  }
  EXPECT_GT(KillEverywhere(killed, kRowsBefore, false), 50);
}

TEST_F(StoreCrash, InTheMiddleOfAWriteLosesNothingAcknowledged) {
  EXPECT_GT(KillEverywhere({}, 0, true), 50);
}

}  // namespace
}  // namespace everstep
