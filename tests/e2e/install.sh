#!/usr/bin/env bash
# A program that embeds Everstep needs only the installed package.
set -euo pipefail

source_dir=${EVERSTEP_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build_dir=${EVERSTEP_BUILD_DIR:-$source_dir/build/release}
work=$(mktemp -d)
trap '[[ $BASHPID != "$$" ]] || rm -rf "$work"' EXIT

cmake --install "$build_dir" --prefix "$work/prefix" >/dev/null
if [[ $(ls "$work/prefix/include") == everstep ]]; then
  echo "ok - only the public headers are installed"
else
  echo "not ok - only the public headers are installed"
fi

mkdir "$work/project"
cp "$source_dir"/examples/*.cc "$work/project/"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(embedder LANGUAGES CXX)
find_package(everstep REQUIRED)
file(GLOB examples *.cc)
foreach(example IN LISTS examples)
  cmake_path(GET example STEM name)
  add_executable(${name} ${example})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE everstep::everstep)
endforeach()
END
if cmake -G Ninja -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" &&
  cmake --build "$work/build" >>"$work/log" 2>&1; then
  echo "ok - the examples build against the installed package"
else
  cat "$work/log"
  echo "not ok - the examples build against the installed package"
fi

# A program that embeds Everstep and has a RocksDB database of its own, once with the static archive
# and once with the shared library.
host=$work/host
mkdir "$host"
cat >"$host/host.cc" <<'END_SOURCE'
#include <dlfcn.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "everstep/log.h"

// Defined in RocksDB, but not declared in its headers.
namespace rocksdb {
Status VerifyBlockChecksum(ChecksumType type, const char* block, std::size_t bytes,
                           const std::string& file, std::uint64_t offset);
namespace crc32c {
std::uint32_t Extend(std::uint32_t crc, const char* bytes, std::size_t size);
}
}  // namespace rocksdb

namespace {

// Prints which function a call goes to, and in which file it is.
template <typename Function>
void Print(Function* function) {
  Dl_info found{};
  dladdr(reinterpret_cast<void*>(function), &found);
  const char* slash = std::strrchr(found.dli_fname, '/');
  std::printf("%s in %.13s\n", found.dli_sname != nullptr ? found.dli_sname : "unknown",
              slash != nullptr ? slash + 1 : found.dli_fname);
}

bool OwnDatabaseWorks(const std::string& directory) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  if (!rocksdb::DB::Open(options, directory, &opened).ok()) return false;
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::string value;
  return db->Put({}, "key", "value").ok() && db->Flush({}).ok() &&
         db->Get({}, "key", &value).ok() && value == "value";
}

bool EverstepWorks(const std::string& directory) {
  everstep::LogOptions options;
  options.directory = directory;
  const auto log = everstep::Log::Open(options);
  return log && (*log)->Append(everstep::Dialect::kNative,
                               R"({"runId":"run-1","eventType":"RunStarted"})");
}

}  // namespace

int main(int, char** arguments) {
  const std::string directory = arguments[1];
  if (!OwnDatabaseWorks(directory + "/own") || !EverstepWorks(directory + "/log")) return 1;
  if (rocksdb::crc32c::Extend(0, "123456789", 9) != 0xe3069283) return 2;
  const std::string block(9, 'x');
  if (!rocksdb::VerifyBlockChecksum(rocksdb::kCRC32c, block.data(), 4, "file", 0).IsCorruption()) {
    return 3;
  }
  Print(&rocksdb::crc32c::Extend);
  Print(&rocksdb::VerifyBlockChecksum);
}
END_SOURCE
cat >"$host/CMakeLists.txt" <<'END_PROJECT'
cmake_minimum_required(VERSION 3.25)
project(host LANGUAGES CXX)
find_library(own_rocksdb ${OWN_ROCKSDB} REQUIRED)
find_package(everstep REQUIRED)
add_executable(host host.cc)
target_compile_features(host PRIVATE cxx_std_20)
target_link_libraries(host PRIVATE ${own_rocksdb} everstep::everstep)
set_target_properties(host PROPERTIES ENABLE_EXPORTS ON POSITION_INDEPENDENT_CODE ON)

set(waiting everstep::everstep)
set(seen "")
while(waiting)
  list(POP_FRONT waiting target)
  string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" target "${target}")
  if(target MATCHES "^-Wl")
    message(FATAL_ERROR "everstep::everstep links with ${target}")
  endif()
  if(NOT TARGET "${target}" OR target IN_LIST seen)
    continue()
  endif()
  list(APPEND seen ${target})
  get_target_property(options ${target} INTERFACE_LINK_OPTIONS)
  if(options AND NOT options STREQUAL "-pthread")  # which is in the pkg-config file of RE2
    message(FATAL_ERROR "${target} exports the link options ${options}")
  endif()
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  if(libraries)
    list(APPEND waiting ${libraries})
  endif()
endwhile()
if(NOT everstep::rocksdb IN_LIST seen)
  message(FATAL_ERROR "everstep::everstep does not link everstep::rocksdb")
endif()
END_PROJECT

# host_runs NAME LIBRARY STATIC FILE: builds the program with LIBRARY as its own RocksDB; FILE is
# where its calls must end.
host_runs() {
  mkdir "$work/data-$1"
  cat >"$work/expected" <<END_EXPECTED
_ZN7rocksdb6crc32c6ExtendEjPKcm in $4
_ZN7rocksdb19VerifyBlockChecksumENS_12ChecksumTypeEPKcmRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEm in $4
END_EXPECTED
  cmake -G Ninja -S "$host" -B "$work/$1" -DCMAKE_PREFIX_PATH="$work/prefix" -DOWN_ROCKSDB="$2" \
    -DEVERSTEP_STATIC_ROCKSDB="$3" >"$work/log" 2>&1 &&
    cmake --build "$work/$1" >>"$work/log" 2>&1 &&
    "$work/$1/host" "$work/data-$1" >"$work/calls" 2>>"$work/log" &&
    diff "$work/expected" "$work/calls" >>"$work/log" &&
    ! nm "$work/$1/host" | grep -E '__(wrap|real)_' >>"$work/log"
}
for variant in "static librocksdb.a ON host" "shared librocksdb.so OFF librocksdb.so"; do
  read -r name arguments <<<"$variant"
  # shellcheck disable=SC2086  # several arguments
  if host_runs "host-$name" $arguments; then
    echo "ok - a program with its own $name RocksDB is not affected"
  else
    cat "$work/log"
    echo "not ok - a program with its own $name RocksDB is not affected"
  fi
done
