#include "serve/devkit/run_attributes.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/json.h"
#include "serve/devkit/cbor_json.h"

namespace everstep {
namespace {

constexpr std::size_t kAttributesMax = 64;
constexpr std::size_t kKeyCharactersMax = 256;
constexpr std::size_t kValueBytesMax = 256;
constexpr std::size_t kChangesBytesMax = 8 << 10;
// Fewer changes than this are not worth caching.
constexpr std::size_t kWorthKeeping = 64;
constexpr std::size_t kViewsKept = 1'024;

using Kind = CborItem::Kind;

// Counts UTF-16 code units, like JavaScript.
std::size_t UnitsOf(std::string_view utf8) {
  std::size_t units = 0;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) ++units;
    if (byte >= 0xf0) ++units;
  }
  return units;
}

std::optional<WorldError> CheckOne(const CborItem& key, const CborItem& value, bool reserved) {
  if (key.kind != Kind::kText || key.text.empty()) {
    return WorldError::Attributes("Attribute key must not be empty");
  }
  if (UnitsOf(key.text) > kKeyCharactersMax) {
    return WorldError::Attributes("Attribute key length exceeds limit 256");
  }
  if (!reserved && key.text.front() == '$') {
    return WorldError::Attributes("Attribute key \"" + std::string(key.text) +
                                  "\" starts with reserved prefix \"$\"");
  }
  if (value.kind == Kind::kNull) return std::nullopt;
  // Refuse the retention promise: the log cannot keep it.
  if (key.text == "$retention") {
    return WorldError::Attributes(
        "$retention: payloads stay in the log until their run is removed; start the run without "
        "experimental_retention, and remove it when it has ended");
  }
  if (value.kind != Kind::kText) {
    return WorldError::Attributes("Attribute value must be a string or null");
  }
  if (value.text.size() > kValueBytesMax) {
    return WorldError::Attributes("Attribute value byte length exceeds limit 256");
  }
  return std::nullopt;
}

// Parses JSON by way of CBOR; the item refers to `bytes`.
Result<CborItem> Look(std::string_view json, std::string& bytes) {
  CborWriter cbor(bytes);
  WriteCbor(json, cbor);
  return ParseCbor(bytes);
}

void Apply(std::string_view key, const CborItem& value, RunAttributes& attributes) {
  if (value.kind == Kind::kText) {
    attributes.insert_or_assign(std::string(key), std::string(value.text));
  } else if (const auto found = attributes.find(key); found != attributes.end()) {
    attributes.erase(found);
  }
}

}  // namespace

std::optional<WorldError> CheckInitialAttributes(const CborItem* data) {
  const CborItem* attributes = data == nullptr ? nullptr : data->Find("attributes");
  if (attributes == nullptr || attributes->kind == Kind::kNull) return std::nullopt;
  if (attributes->kind != Kind::kMap) {
    return WorldError::Attributes("attributes must be an object");
  }
  if (attributes->items.size() / 2 > kAttributesMax) {
    return WorldError::Attributes("Run attribute count would exceed limit 64");
  }
  const bool reserved = data->Flag("allowReservedAttributes");
  for (std::size_t i = 0; i + 1 < attributes->items.size(); i += 2) {
    if (auto bad = CheckOne(attributes->items[i], attributes->items[i + 1], reserved)) return bad;
  }
  return std::nullopt;
}

std::optional<WorldError> CheckAttributeChanges(const CborItem* data) {
  const CborItem* changes = data == nullptr ? nullptr : data->Find("changes");
  if (changes == nullptr || changes->kind != Kind::kArray || changes->items.empty()) {
    return WorldError::Attributes("attr_set needs changes");
  }
  std::set<std::string_view> keys;
  std::size_t bytes = 0;
  const bool reserved = data->Flag("allowReservedAttributes");
  for (const CborItem& change : changes->items) {
    const CborItem* key = change.Find("key");
    const CborItem* value = change.Find("value");
    if (key == nullptr || value == nullptr) {
      return WorldError::Attributes("a change needs key and value");
    }
    if (auto bad = CheckOne(*key, *value, reserved)) return bad;
    if (!keys.insert(key->text).second) {
      return WorldError::Attributes("Duplicate attribute key \"" + std::string(key->text) + "\"");
    }
    bytes += key->text.size() + value->text.size();
  }
  if (bytes > kChangesBytesMax) {
    return WorldError::Attributes("attr_set has more than 8 KiB of changes");
  }
  return std::nullopt;
}

std::optional<AttributeView> AttributeCache::Find(RunNo run) {
  const std::lock_guard lock(mutex_);
  const auto found = views_.find(run);
  if (found == views_.end()) return std::nullopt;
  return found->second;
}

void AttributeCache::Keep(RunNo run, const AttributeView& view) {
  const std::lock_guard lock(mutex_);
  const auto [place, added] = views_.try_emplace(run, view);
  if (!added && place->second.seen < view.seen) place->second = view;
  if (!added) return;
  order_.push_back(run);
  if (order_.size() <= kViewsKept) return;
  views_.erase(order_.front());
  order_.pop_front();
}

void ApplyAttributeChanges(const CborItem& data, RunAttributes& attributes) {
  const CborItem* changes = data.Find("changes");
  if (changes == nullptr) return;
  for (const CborItem& change : changes->items) {
    const CborItem* value = change.Find("value");
    if (value != nullptr) Apply(change.Text("key"), *value, attributes);
  }
}

std::optional<WorldError> CheckAttributeCount(const RunAttributes& before, const CborItem& data) {
  RunAttributes after = before;
  ApplyAttributeChanges(data, after);
  if (after.size() <= kAttributesMax) return std::nullopt;
  return WorldError::Attributes("Run attribute count would exceed limit 64");
}

namespace {

void ApplyInitialAttributes(std::string_view created, RunAttributes& attributes) {
  const auto initial = RawMember(created, "attributes");
  if (!initial) return;
  std::string bytes;
  const auto map = Look(*initial, bytes);
  if (!map) return;
  for (std::size_t i = 0; i + 1 < map->items.size(); i += 2) {
    Apply(map->items[i].text, map->items[i + 1], attributes);
  }
}

void ApplyChange(const Event& event, RunAttributes& attributes) {
  std::string bytes;
  const auto list = Look(RawMember(event.payload, "changes").value_or("[]"), bytes);
  if (!list) return;
  for (const CborItem& change : list->items) {
    if (const CborItem* value = change.Find("value")) {
      Apply(change.Text("key"), *value, attributes);
    }
  }
}

Result<Event> ReadEvent(StateReader& reader, const StoredRun& run, EventSeq seq) {
  auto events =
      reader.ReadEvents(run, {.after = EventSeq(seq.value() - 1), .until = seq, .limit = 1});
  if (!events) return std::move(events).error();
  if (events->empty()) return Error{ErrorCode::kStoreCorrupt, "an event is missing", {}};
  return std::move(events->front());
}

}  // namespace

Result<RunAttributes> ReadAttributes(StateReader& reader, const StoredRun& run,
                                     std::string_view created, AttributeCache* cache,
                                     std::size_t& rows) {
  EventSeq seq = run.state.last_of_type[static_cast<std::size_t>(EventType::kContextUpdated)];
  AttributeView view;
  if (cache != nullptr && seq != EventSeq()) {
    // A cached view of a later moment is useless here.
    if (auto known = cache->Find(run.run_no); known && known->seen <= seq) view = *std::move(known);
  }
  if (view.seen == EventSeq()) ApplyInitialAttributes(created, view.attributes);
  // Changes refer to the one before: find them from the last to the first, then apply them.
  std::vector<EventSeq> changes;
  while (seq > view.seen) {
    const auto event = ReadEvent(reader, run, seq);
    if (!event) return event.error();
    if (event->previous_of_type >= seq) {
      return Error{ErrorCode::kStoreCorrupt, "the chain of attribute changes does not go back", {}};
    }
    changes.push_back(seq);
    seq = event->previous_of_type;
  }
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    const auto event = ReadEvent(reader, run, *change);
    if (!event) return event.error();
    ApplyChange(*event, view.attributes);
    view.seen = *change;
  }
  rows += changes.size();
  if (cache != nullptr && changes.size() >= kWorthKeeping && run.run_no != RunNo()) {
    cache->Keep(run.run_no, view);
  }
  return std::move(view.attributes);
}

}  // namespace everstep
