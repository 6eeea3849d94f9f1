#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/timestamp.h"
#include "everstep/result.h"
#include "flow/document.h"
#include "serve/text_rule.h"

namespace everstep {

class JsonRequest;

// One JSON object of a body. Asking for a member makes it known; what nobody asked for is a fault.
// A member that is wrong gives nothing, and its fault to the request. Null is a value like another,
// and as wrong as another where text is wanted. Keys must live as long as the request.
class ObjectReader {
 public:
  bool Has(std::string_view key) const;  // does not make it known

  std::optional<std::string> Text(std::string_view key, Presence presence,
                                  const TextRule& rule = kAnyText);
  std::optional<std::int64_t> Integer(std::string_view key, Presence presence, std::int64_t min,
                                      std::int64_t max);
  std::optional<bool> Flag(std::string_view key, Presence presence);
  // "30s", or a number of milliseconds.
  std::optional<std::chrono::milliseconds> Duration(std::string_view key, Presence presence);
  std::optional<Timestamp> Time(std::string_view key, Presence presence);  // RFC 3339
  // One of the words; its index.
  std::optional<std::size_t> Word(std::string_view key, Presence presence,
                                  std::span<const std::string_view> words);
  // A list of texts, at most `count_max`. Not there or wrong: none.
  std::vector<std::string> Texts(std::string_view key, Presence presence, std::size_t count_max,
                                 const TextRule& rule);

  // A value of any kind, as JSON text.
  std::optional<std::string> Json(std::string_view key, Presence presence);
  // The same for an object only.
  std::optional<std::string> JsonObject(std::string_view key, Presence presence);

  std::optional<ObjectReader> Object(std::string_view key, Presence presence);
  // A list of objects, at most `count_max`. Not there or wrong: none.
  std::vector<ObjectReader> Objects(std::string_view key, Presence presence, std::size_t count_max);

  // A fault of a member that was read and is wrong for a reason of the caller's.
  void Refuse(std::string_view key, std::string message);

 private:
  friend class JsonRequest;
  ObjectReader(JsonRequest& request, std::size_t index) : request_(&request), index_(index) {}

  const Node* Find(std::string_view key, Presence presence);
  void FaultOf(const Node& member, std::string_view wanted);
  std::optional<std::string> TextOf(const Node& node, const std::string& pointer,
                                    const TextRule& rule);

  JsonRequest* request_;
  std::size_t index_;  // among the objects of the request
};

// A JSON body that is read strictly, all faults at once:
//
//   JsonRequest request(body, JsonRequest::Empty::kRefused);
//   ObjectReader root = request.root();
//   const auto id = root.Text("runId", Presence::kOptional, kIdentifierText);
//   if (Status read = request.Finish(); !read) return read.error();
//
// `body` must outlive it. One thread.
class JsonRequest {
 public:
  // Whether no body at all stands for {}.
  enum class Empty : std::uint8_t { kRefused, kIsObject };
  JsonRequest(std::string_view body, Empty empty);
  JsonRequest(const JsonRequest&) = delete;
  JsonRequest& operator=(const JsonRequest&) = delete;

  ObjectReader root();

  // kInvalidJson: not JSON (RFC 8259) in UTF-8, nested deeper than 64, or a key stands twice in an
  // object. kSchemaValidationFailed: members are missing, unknown or wrong. Faults have pointer,
  // line and column. Values that were read are good only if this is.
  Status Finish();

 private:
  friend class ObjectReader;
  struct Opened {
    const Node* node;
    std::string pointer;
    std::string_view text;  // of the object in the body; empty: not known
    std::vector<std::string_view> known;
  };

  std::size_t Open(const Node& node, std::string pointer, std::string_view text);
  void Add(std::string pointer, std::string message, std::uint32_t line, std::uint32_t column);
  void FindUnknown(const Opened& object);

  std::string_view body_;
  Document document_;
  std::optional<Error> unreadable_;
  std::deque<Opened> objects_;
  std::vector<Fault> faults_;
};

}  // namespace everstep
