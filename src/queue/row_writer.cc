#include "queue/row_writer.h"

#include <iterator>
#include <utility>

namespace everstep {

Status RowWriter::Write(std::vector<TenantDocument> rows) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Batch> mine = gathering_;
  mine->rows.insert(mine->rows.end(), std::make_move_iterator(rows.begin()),
                    std::make_move_iterator(rows.end()));
  written_.wait(lock, [&] { return mine->outcome || !busy_; });
  if (mine->outcome) return *mine->outcome;
  // The first who finds nobody writing writes for all who have come.
  busy_ = true;
  gathering_ = std::make_shared<Batch>();
  lock.unlock();
  Status written = committer_.BetweenCommits([&] { return store_.PutDocuments(mine->rows); });
  lock.lock();
  busy_ = false;
  mine->outcome = written;
  written_.notify_all();
  return written;
}

}  // namespace everstep
