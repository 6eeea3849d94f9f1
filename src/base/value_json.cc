#include <simdjson.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/content_count.h"
#include "base/json.h"
#include "base/unique_keys.h"
#include "base/utf8.h"
#include "base/value.h"

namespace everstep {
namespace {

namespace ondemand = simdjson::ondemand;

// Reads the document in one forward pass. Each Read function returns an error message, or null.
class ValueReader {
 public:
  // A JSON pointer to the value that the error message is about.
  const std::string& where() const { return where_; }

  // `Node` is a document or a value: simdjson gives both the same accessors.
  template <typename Node>
  const char* Read(Node& node, std::size_t depth, Value& out) {
    if (++values_ > kContentValuesMax) return kTooMany;
    ondemand::json_type type;
    if (const auto error = node.type().get(type)) return simdjson::error_message(error);
    switch (type) {
      case ondemand::json_type::object:
        return ReadObject(node, depth + 1, out);
      case ondemand::json_type::array:
        return ReadArray(node, depth + 1, out);
      case ondemand::json_type::string:
        return ReadString(node, out);
      case ondemand::json_type::number:
        return ReadNumber(node, out);
      case ondemand::json_type::boolean:
        return ReadBool(node, out);
      case ondemand::json_type::null:
        return ReadNull(node, out);
    }
    return "a value of unknown type";
  }

 private:
  static constexpr const char* kTooDeep = "nested deeper than 64";
  static constexpr const char* kTooMany = "more than 1,000,000 values";

  const char* Within(std::string_view name, const char* fault) {
    constexpr std::size_t kNameBytesMax = 64;
    std::string part = "/";
    for (const char c : CutAtCharacter(name, kNameBytesMax)) {
      part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    where_.insert(0, part);
    return fault;
  }
  static std::string Repeated(const ValueMap& members) {
    std::set<std::string_view> seen;
    for (const auto& [key, value] : members) {
      if (!seen.insert(key).second) return key;
    }
    return {};
  }

  template <typename Node>
  const char* ReadObject(Node& node, std::size_t depth, Value& out) {
    if (depth > kValueDepthMax) return kTooDeep;
    ondemand::object object;
    if (const auto error = node.get_object().get(object)) return simdjson::error_message(error);
    ValueMap members;
    for (auto next : object) {
      ondemand::field field;
      if (const auto error = std::move(next).get(field)) return simdjson::error_message(error);
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key)) return simdjson::error_message(error);
      members.emplace_back(key, Value());
      if (const char* fault = Read(field.value(), depth, members.back().second)) {
        return Within(members.back().first, fault);
      }
    }
    if (!KeysAreUnique(members)) return Within(Repeated(members), "the key is repeated");
    out = Value::Map(std::move(members));
    return nullptr;
  }

  template <typename Node>
  const char* ReadArray(Node& node, std::size_t depth, Value& out) {
    if (depth > kValueDepthMax) return kTooDeep;
    ondemand::array array;
    if (const auto error = node.get_array().get(array)) return simdjson::error_message(error);
    ValueList items;
    for (auto next : array) {
      ondemand::value item;
      if (const auto error = std::move(next).get(item)) return simdjson::error_message(error);
      if (const char* fault = Read(item, depth, items.emplace_back())) {
        return Within(std::to_string(items.size() - 1), fault);
      }
    }
    out = Value::List(std::move(items));
    return nullptr;
  }

  template <typename Node>
  const char* ReadString(Node& node, Value& out) {
    std::string_view text;
    if (const auto error = node.get_string().get(text)) return simdjson::error_message(error);
    out = Value::Text(std::string(text));
    return nullptr;
  }

  // Integers that do not fit into 64 bits become doubles, as in most JSON parsers.
  template <typename Node>
  const char* ReadNumber(Node& node, Value& out) {
    std::int64_t integer;
    if (!node.get_int64().get(integer)) {
      out = Value::Int(integer);
      return nullptr;
    }
    double number;
    if (const auto error = node.get_double().get(number)) return simdjson::error_message(error);
    out = Value::Double(number);
    return nullptr;
  }

  template <typename Node>
  const char* ReadBool(Node& node, Value& out) {
    bool value;
    if (const auto error = node.get_bool().get(value)) return simdjson::error_message(error);
    out = Value::Bool(value);
    return nullptr;
  }

  template <typename Node>
  const char* ReadNull(Node& node, Value& out) {
    bool is_null = false;
    if (node.is_null().get(is_null) || !is_null) {
      return simdjson::error_message(simdjson::N_ATOM_ERROR);
    }
    out = Value::Null();
    return nullptr;
  }

  std::size_t values_ = 0;
  std::string where_;
};

Error NotJson(std::string fault, std::string where = {}) {
  Error error{ErrorCode::kInvalidJson, fault, {}};
  if (where.empty()) return error;
  error.message = where + ": " + fault;
  error.faults.push_back({std::move(where), std::move(fault)});
  return error;
}

// Writes large whole numbers with all digits: the shortest digits that round-trip to the same
// double would be read back as a different integer.
void WriteDouble(double number, JsonWriter& json) {
  constexpr double kTwoTo53 = 9'007'199'254'740'992.0;
  constexpr double kTwoTo63 = 9'223'372'036'854'775'808.0;
  const double size = std::abs(number);
  if (size >= kTwoTo53 && size < kTwoTo63) return json.Int(static_cast<std::int64_t>(number));
  json.Double(number);
}

void Write(const Value& value, JsonWriter& json) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNull:
      return json.Null();
    case Value::Kind::kBool:
      return json.Bool(value.bool_value());
    case Value::Kind::kInt:
      return json.Int(value.int_value());
    case Value::Kind::kDouble:
      return WriteDouble(value.number(), json);
    case Value::Kind::kText:
      return json.String(value.text());
    case Value::Kind::kList:
      json.BeginArray();
      for (const Value& item : value.list()) Write(item, json);
      return json.EndArray();
    case Value::Kind::kMap: {
      json.BeginObject();
      const auto members = value.shared_members();
      for (const auto& [key, member] : *members) {
        json.Key(key);
        Write(member, json);
      }
      return json.EndObject();
    }
  }
}

// Subtracts the size of the value from `bytes_left`. Returns false if it does not fit.
bool TakeBytes(const Value& value, std::size_t depth, std::size_t& bytes_left) {
  const auto take = [&bytes_left](std::size_t bytes) {
    const bool enough = bytes <= bytes_left;
    bytes_left -= enough ? bytes : bytes_left;
    return enough;
  };
  if (!take(4)) return false;
  switch (value.kind()) {
    case Value::Kind::kText:
      return take(value.text().size());
    case Value::Kind::kList:
      if (depth == kValueDepthMax) return false;
      for (const Value& item : value.list()) {
        if (!TakeBytes(item, depth + 1, bytes_left)) return false;
      }
      return true;
    case Value::Kind::kMap: {
      if (depth == kValueDepthMax) return false;
      const auto members = value.shared_members();
      for (const auto& [key, member] : *members) {
        if (!take(key.size() + 4) || !TakeBytes(member, depth + 1, bytes_left)) return false;
      }
      return true;
    }
    default:
      return true;
  }
}

}  // namespace

Result<Value> ValueFromJson(std::string_view json) {
  // simdjson 3.0 rejects white space after a lone null.
  json = json.substr(0, json.find_last_not_of(" \t\r\n") + 1);
  const simdjson::padded_string padded(json);
  thread_local ondemand::parser parser;
  ondemand::document document;
  if (const auto error = parser.iterate(padded).get(document)) {
    return NotJson(simdjson::error_message(error));
  }
  Value value;
  ValueReader reader;
  if (const char* fault = reader.Read(document, 0, value)) return NotJson(fault, reader.where());
  // At the end of the document, current_location returns an error.
  if (!document.current_location().error()) return NotJson("unexpected content after the value");
  return value;
}

void AppendJson(const Value& value, std::string& out) {
  JsonWriter json(out);
  Write(value, json);
}

std::string ToJson(const Value& value) {
  std::string out;
  AppendJson(value, out);
  return out;
}

bool FitsJson(const Value& value, std::size_t bytes_max) { return TakeBytes(value, 0, bytes_max); }

}  // namespace everstep
