#include "serve/request_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "flow/document_parser.h"
#include "flow/duration.h"
#include "flow/nearest.h"
#include "flow/quoted.h"
#include "serve/reading.h"

namespace everstep {
namespace {

constexpr std::size_t kFaultsMax = 100;

const Node& EmptyObject() {
  static const Node kEmpty = [] {
    Node node;
    node.kind = Node::Kind::kMap;
    node.content.emplace<std::vector<Node>>();
    return node;
  }();
  return kEmpty;
}

std::string PointerTo(const std::string& parent, std::string_view key) {
  std::string pointer = parent + "/";
  for (const char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer.push_back(c);
    }
  }
  return pointer;
}

Error NotJson(std::vector<Fault> faults) {
  const std::string what = faults.empty() ? std::string() : ": " + faults.front().message;
  return {ErrorCode::kInvalidJson, "the body is not JSON" + what, std::move(faults)};
}

}  // namespace

JsonRequest::JsonRequest(std::string_view body, Empty empty) : body_(body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    if (empty == Empty::kRefused) unreadable_ = NotJson({{"", "there is no body", 1, 1}});
    Open(EmptyObject(), "", "");
    return;
  }
  if (!simdjson::validate_utf8(body.data(), body.size())) {
    unreadable_ = NotJson({{"", "it is not UTF-8"}});
  } else if (auto parsed = ParseJsonDocument(body); !parsed) {
    unreadable_ = NotJson(std::move(parsed.error().faults));
  } else {
    document_ = std::move(*parsed);
    if (!document_.faults.empty()) unreadable_ = NotJson(std::move(document_.faults));
  }
  if (unreadable_) {
    Open(EmptyObject(), "", "");
  } else if (!document_.root.is_map()) {
    Add("", "must be an object, not " + std::string(KindName(document_.root)), 1, 1);
    Open(EmptyObject(), "", "");
  } else {
    Open(document_.root, "", body_);
  }
}

ObjectReader JsonRequest::root() { return {*this, 0}; }

std::size_t JsonRequest::Open(const Node& node, std::string pointer, std::string_view text) {
  objects_.push_back({&node, std::move(pointer), text, {}});
  return objects_.size() - 1;
}

void JsonRequest::Add(std::string pointer, std::string message, std::uint32_t line,
                      std::uint32_t column) {
  if (faults_.size() >= kFaultsMax) return;
  faults_.push_back({std::move(pointer), std::move(message), line, column});
}

void JsonRequest::FindUnknown(const Opened& object) {
  for (const Node& member : object.node->children()) {
    if (faults_.size() >= kFaultsMax) return;
    const auto& known = object.known;
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    Add(PointerTo(object.pointer, member.key),
        "there is no member " + Quoted(member.key) + " here" + DidYouMean(member.key, known),
        member.key_line, member.key_column);
  }
}

Status JsonRequest::Finish() {
  if (unreadable_) return *unreadable_;
  for (const Opened& object : objects_) FindUnknown(object);
  if (faults_.empty()) return Ok();
  std::string message = std::to_string(faults_.size()) + " faults";
  if (faults_.size() == 1) {
    const Fault& only = faults_.front();
    message = (only.pointer.empty() ? "the body" : only.pointer) + ": " + only.message;
  }
  return Error{ErrorCode::kSchemaValidationFailed, std::move(message), faults_};
}

bool ObjectReader::Has(std::string_view key) const {
  return request_->objects_[index_].node->Find(key) != nullptr;
}

const Node* ObjectReader::Find(std::string_view key, Presence presence) {
  JsonRequest::Opened& object = request_->objects_[index_];
  object.known.push_back(key);
  const Node* member = object.node->Find(key);
  if (member == nullptr && presence == Presence::kRequired) {
    request_->Add(PointerTo(object.pointer, key), "is required", object.node->line,
                  object.node->column);
  }
  return member;
}

void ObjectReader::FaultOf(const Node& member, std::string_view wanted) {
  request_->Add(PointerTo(request_->objects_[index_].pointer, member.key),
                "must be " + std::string(wanted) + ", not " + std::string(KindName(member)),
                member.line, member.column);
}

void ObjectReader::Refuse(std::string_view key, std::string message) {
  const JsonRequest::Opened& object = request_->objects_[index_];
  const Node* member = object.node->Find(key);
  const Node& at = member == nullptr ? *object.node : *member;
  request_->Add(PointerTo(object.pointer, key), std::move(message), at.line, at.column);
}

std::optional<std::string> ObjectReader::TextOf(const Node& node, const std::string& pointer,
                                                const TextRule& rule) {
  if (!node.is_text()) {
    request_->Add(pointer, "must be text, not " + std::string(KindName(node)), node.line,
                  node.column);
    return std::nullopt;
  }
  if (std::string fault = FaultOfText(node.text(), rule); !fault.empty()) {
    request_->Add(pointer, std::move(fault), node.line, node.column);
    return std::nullopt;
  }
  return std::string(node.text());
}

std::optional<std::string> ObjectReader::Text(std::string_view key, Presence presence,
                                              const TextRule& rule) {
  const Node* member = Find(key, presence);
  if (member == nullptr) return std::nullopt;
  return TextOf(*member, PointerTo(request_->objects_[index_].pointer, key), rule);
}

std::optional<std::int64_t> ObjectReader::Integer(std::string_view key, Presence presence,
                                                  std::int64_t min, std::int64_t max) {
  const Node* member = Find(key, presence);
  if (member == nullptr) return std::nullopt;
  if (member->kind == Node::Kind::kInt && member->int_value() >= min &&
      member->int_value() <= max) {
    return member->int_value();
  }
  if (member->kind == Node::Kind::kInt || member->kind == Node::Kind::kDouble) {
    Refuse(key, "must be " + RangeText(min, max));
  } else {
    FaultOf(*member, RangeText(min, max));
  }
  return std::nullopt;
}

std::optional<bool> ObjectReader::Flag(std::string_view key, Presence presence) {
  const Node* member = Find(key, presence);
  if (member == nullptr) return std::nullopt;
  if (member->kind == Node::Kind::kBool) return member->bool_value();
  FaultOf(*member, "true or false");
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> ObjectReader::Duration(std::string_view key,
                                                                Presence presence) {
  const Node* member = Find(key, presence);
  if (member == nullptr) return std::nullopt;
  if (member->kind == Node::Kind::kInt && member->int_value() >= 0 &&
      member->int_value() <= kDurationMax.count()) {
    return std::chrono::milliseconds(member->int_value());
  }
  const auto read = member->is_text() ? ParseDuration(member->text()) : std::nullopt;
  if (!read) Refuse(key, std::string(kDurationExpected));
  return read;
}

std::optional<Timestamp> ObjectReader::Time(std::string_view key, Presence presence) {
  const Node* member = Find(key, presence);
  if (member == nullptr) return std::nullopt;
  const auto read = member->is_text() ? ParseTimestamp(member->text()) : std::nullopt;
  if (!read) Refuse(key, std::string(kTimeExpected));
  return read;
}

std::optional<std::size_t> ObjectReader::Word(std::string_view key, Presence presence,
                                              std::span<const std::string_view> words) {
  const Node* member = Find(key, presence);
  if (member == nullptr) return std::nullopt;
  const std::string_view word = member->is_text() ? member->text() : std::string_view();
  const auto found = std::find(words.begin(), words.end(), word);
  if (member->is_text() && found != words.end()) {
    return static_cast<std::size_t>(found - words.begin());
  }
  Refuse(key, FaultOfWord(word, words));
  return std::nullopt;
}

std::vector<std::string> ObjectReader::Texts(std::string_view key, Presence presence,
                                             std::size_t count_max, const TextRule& rule) {
  std::vector<std::string> texts;
  const Node* member = Find(key, presence);
  if (member == nullptr) return texts;
  if (!member->is_list()) {
    FaultOf(*member, "a list of texts");
    return texts;
  }
  if (member->children().size() > count_max) {
    Refuse(key, "has more than " + std::to_string(count_max) + " items");
    return texts;
  }
  const std::string pointer = PointerTo(request_->objects_[index_].pointer, key);
  for (std::size_t i = 0; i < member->children().size(); ++i) {
    auto text = TextOf(member->children()[i], pointer + "/" + std::to_string(i), rule);
    if (text) texts.push_back(*std::move(text));
  }
  return texts;
}

std::optional<std::string> ObjectReader::Json(std::string_view key, Presence presence) {
  const Node* member = Find(key, presence);
  if (member == nullptr) return std::nullopt;
  const std::string_view text = request_->objects_[index_].text;
  // As it was written, unless the key itself was written with escapes.
  const auto raw = text.empty() ? std::nullopt : RawMember(text, key);
  return raw ? std::string(*raw) : ToJson(*member);
}

std::optional<std::string> ObjectReader::JsonObject(std::string_view key, Presence presence) {
  const JsonRequest::Opened& object = request_->objects_[index_];
  if (const Node* member = object.node->Find(key); member != nullptr && !member->is_map()) {
    (void)Find(key, presence);
    FaultOf(*member, "an object");
    return std::nullopt;
  }
  return Json(key, presence);
}

std::optional<ObjectReader> ObjectReader::Object(std::string_view key, Presence presence) {
  const Node* member = Find(key, presence);
  if (member == nullptr) return std::nullopt;
  if (!member->is_map()) {
    FaultOf(*member, "an object");
    return std::nullopt;
  }
  const JsonRequest::Opened& object = request_->objects_[index_];
  const auto raw = object.text.empty() ? std::nullopt : RawMember(object.text, key);
  return ObjectReader(*request_, request_->Open(*member, PointerTo(object.pointer, key),
                                                raw.value_or(std::string_view())));
}

std::vector<ObjectReader> ObjectReader::Objects(std::string_view key, Presence presence,
                                                std::size_t count_max) {
  std::vector<ObjectReader> readers;
  const Node* member = Find(key, presence);
  if (member == nullptr) return readers;
  if (!member->is_list()) {
    FaultOf(*member, "a list of objects");
    return readers;
  }
  if (member->children().size() > count_max) {
    Refuse(key, "has more than " + std::to_string(count_max) + " items");
    return readers;
  }
  const std::string pointer = PointerTo(request_->objects_[index_].pointer, key);
  for (std::size_t i = 0; i < member->children().size(); ++i) {
    const Node& item = member->children()[i];
    std::string item_pointer = pointer + "/" + std::to_string(i);
    if (item.is_map()) {
      readers.push_back(ObjectReader(*request_, request_->Open(item, std::move(item_pointer), "")));
    } else {
      request_->Add(std::move(item_pointer),
                    "must be an object, not " + std::string(KindName(item)), item.line,
                    item.column);
    }
  }
  return readers;
}

}  // namespace everstep
