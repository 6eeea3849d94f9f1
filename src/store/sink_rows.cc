#include "store/sink_rows.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/assert.h"
#include "store/corrupt_row.h"

namespace everstep {
namespace {

Result<SinkMark> DecodeMark(const SinkKey& key, std::string_view value) {
  auto mark = DecodeSinkMark(value);
  if (!mark) return CorruptRow({.table = Table::kMeta}, "a sink's mark cannot be read");
  mark->key = key;
  return *std::move(mark);
}

// The number of dead letters after a move, which counts each letter once however often it is named.
class LetterCount {
 public:
  LetterCount(KeyedReader& reader, std::uint64_t before) : reader_(reader), count_(before) {}

  Status Put(std::string key) { return Change(std::move(key), true); }
  Status Delete(std::string key) { return Change(std::move(key), false); }
  std::uint64_t count() const { return count_; }

 private:
  Status Change(std::string key, bool there) {
    auto place = is_there_.find(key);
    if (place == is_there_.end()) {
      const auto row = reader_.view().Get(Table::kIndex, key);
      if (!row) return At({.table = Table::kIndex}, row.error());
      place = is_there_.emplace(std::move(key), row->has_value()).first;
    }
    if (place->second == there) return Ok();
    place->second = there;
    if (there) {
      ++count_;
    } else if (count_ > 0) {
      --count_;
    }
    return Ok();
  }

  KeyedReader& reader_;
  std::uint64_t count_;
  std::map<std::string, bool, std::less<>> is_there_;
};

}  // namespace

Status PutSinkMove(KeyedReader& reader, const SinkMove& move, WriteBatch& batch) {
  const SinkKey& sink = move.mark.key;
  EVERSTEP_ASSERT(!sink.name.empty());
  const auto before = reader.FindSink(sink);
  if (!before) return before.error();
  LetterCount count(reader, *before ? (*before)->dead_letters : 0);
  RowKeys keys;
  for (const auto& [run_id, seq] : move.gone) {
    const std::string key(keys.DeadLetter(sink, run_id, seq));
    const Status counted = count.Delete(key);
    if (!counted) return counted;
    batch.Delete(Table::kIndex, key);
  }
  std::string value;
  for (const DeadLetter& letter : move.died) {
    EVERSTEP_ASSERT(!letter.run_id.value().empty() && letter.seq != EventSeq());
    const std::string key(keys.DeadLetter(sink, letter.run_id, letter.seq));
    const Status counted = count.Put(key);
    if (!counted) return counted;
    value.clear();
    EncodeDeadLetter(letter, value);
    batch.Put(Table::kIndex, key, value);
  }
  SinkMark mark = move.mark;
  mark.dead_letters = count.count();
  value.clear();
  EncodeSinkMark(mark, value);
  batch.Put(Table::kMeta, keys.SinkMark(sink), value);
  return Ok();
}

Status PutSinkRemoval(KeyedReader& reader, const SinkKey& sink, WriteBatch& batch) {
  RowKeys keys;
  batch.Delete(Table::kMeta, keys.SinkMark(sink));
  const std::string prefix(keys.DeadLetters(sink));
  auto row = reader.view().Seek(Table::kIndex, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    batch.Delete(Table::kIndex, row->key());
  }
  if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
  return Ok();
}

Result<std::optional<SinkMark>> KeyedReader::FindSink(const SinkKey& key) {
  auto row = view_->Get(Table::kMeta, keys_.SinkMark(key));
  if (!row) return At({.table = Table::kMeta}, std::move(row).error());
  if (!*row) return std::optional<SinkMark>();
  auto mark = DecodeMark(key, **row);
  if (!mark) return std::move(mark).error();
  return std::optional(*std::move(mark));
}

Result<std::vector<SinkMark>> KeyedReader::ListSinks() {
  std::vector<SinkMark> marks;
  const std::string prefix(keys_.Kind(RowKind::kSinkMark));
  auto row = view_->Seek(Table::kMeta, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    const auto key = ParseSinkMarkKey(row->key());
    if (!key) return CorruptRow({.table = Table::kMeta}, "a sink's key cannot be read");
    auto mark = DecodeMark(*key, row->value());
    if (!mark) return std::move(mark).error();
    marks.push_back(*std::move(mark));
  }
  if (!row->status()) return At({.table = Table::kMeta}, row->status().error());
  std::ranges::sort(marks, {}, &SinkMark::key);
  return marks;
}

Result<std::vector<DeadLetter>> KeyedReader::ListDeadLetters(const DeadLetterQuery& query) {
  std::vector<DeadLetter> letters;
  const std::string prefix(query.run_id.value().empty()
                               ? keys_.DeadLetters(query.sink)
                               : keys_.DeadLetters(query.sink, query.run_id));
  std::string from = prefix;
  if (!query.after_run.value().empty()) {
    from = std::max(
        from, std::string(keys_.DeadLetter(query.sink, query.after_run, Next(query.after_seq))));
  }
  auto row = view_->Seek(Table::kIndex, from);
  for (; letters.size() < query.limit && row->Valid(); row->Next()) {
    if (!row->key().starts_with(prefix)) break;
    const auto key = ParseDeadLetterKey(row->key());
    auto letter = DecodeDeadLetter(row->value());
    if (!key || !letter)
      return CorruptRow({.table = Table::kIndex}, "a dead letter cannot be read");
    letter->run_id = RunId(std::string(key->run_id));
    letter->seq = key->seq;
    letters.push_back(*std::move(letter));
  }
  if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
  return letters;
}

}  // namespace everstep
