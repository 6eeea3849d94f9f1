#pragma once

#include <rocksdb/env.h>

#include <memory>

#include "store/held_files.h"
#include "store/store_mark.h"

namespace everstep {

// Controls how the files of RocksDB's write-ahead log are written and read.
//
// The owner fills log files with zeros ahead of its records, so that a sync only has to write data.
// In a file that grows, each sync also changes the file's size and therefore waits for a commit of
// the file system's journal, which takes as long again. An orderly close truncates the zeros; after
// a crash, recovery skips them.
//
// `mark` is updated with what is synced and which log files are dropped, `held` with which files
// there are. Both must outlive the environment. Once `held` finds the directory replaced, nothing
// in it is created, renamed or removed: another owner may use what has its path now.
std::unique_ptr<rocksdb::Env> NewOwnersEnv(StoreMark& mark, HeldFiles& held);

// For a process that follows the log while the owner writes it. Such a reader must not mistake the
// zeros or a partly written record for the end of the log, so it is shown whole records only.
std::unique_ptr<rocksdb::Env> NewVisitorsEnv();

}  // namespace everstep
