#pragma once

#include <rocksdb/env.h>

#include <memory>

#include "store/store_mark.h"

namespace everstep {

// How the files of RocksDB's write-ahead log are written and read.
//
// The owner fills them with zeros ahead of its records. A sync then brings data to the disk and
// nothing else; in a file that grows, each sync also changes the file's size and so waits for a
// commit of the file system's journal, which takes as long again. An orderly close cuts the zeros
// off; after a crash recovery skips them.
//
// `mark` learns what is synced and which log files are dropped; it must outlive the environment.
std::unique_ptr<rocksdb::Env> NewOwnersEnv(StoreMark& mark);

// A process beside the owner follows the log while it is written, and must take neither the zeros
// nor a record that is half written for its end: it is shown whole records only.
std::unique_ptr<rocksdb::Env> NewVisitorsEnv();

}  // namespace everstep
