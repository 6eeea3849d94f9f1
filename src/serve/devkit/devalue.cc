#include "serve/devkit/devalue.h"

#include <utility>
#include <vector>

#include "base/json.h"

namespace everstep {
namespace {

constexpr std::string_view kFormat = "devl";
constexpr std::string_view kUndefined = "-1";

class Parts {
 public:
  // Returns the value's index in the list.
  std::size_t Add(const Value& value) {
    const std::size_t place = parts_.size();
    parts_.emplace_back();
    parts_[place] = TextOf(value);
    return place;
  }
  bool readable() const { return readable_; }
  std::string List() const {
    std::string text = "[";
    for (const std::string& part : parts_) {
      if (text.size() > 1) text.push_back(',');
      text.append(part);
    }
    return text + "]";
  }

 private:
  std::string TextOf(const Value& value) {
    std::string text;
    if (value.kind() == Value::Kind::kList) {
      for (const Value& item : value.list()) {
        text.append(text.empty() ? "[" : ",").append(std::to_string(Add(item)));
      }
      return text.empty() ? "[]" : text + "]";
    }
    if (value.kind() == Value::Kind::kMap) {
      for (const auto& [key, member] : *value.shared_members()) {
        readable_ = readable_ && key != "__proto__";
        text.append(text.empty() ? "{" : ",").append(JsonQuote(key));
        text.append(":").append(std::to_string(Add(member)));
      }
      return text.empty() ? "{}" : text + "}";
    }
    return ToJson(value);
  }

  std::vector<std::string> parts_;
  bool readable_ = true;
};

}  // namespace

Result<std::string> DevaluePayload(const Value& value) {
  std::string payload(kFormat);
  if (value.undefined()) return payload.append(kUndefined);
  Parts parts;
  parts.Add(value);
  if (parts.readable()) return payload.append(parts.List());
  return Error{ErrorCode::kInvalidArgument, "a member must not be named __proto__", {}};
}

}  // namespace everstep
