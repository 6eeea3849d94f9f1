#include "flow/input_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "flow/expression_operators.h"
#include "flow/pattern.h"

namespace everstep {
namespace {

constexpr std::size_t kFaultsMax = 100;
constexpr std::size_t kShownMax = 40;  // bytes of a value in a message

// Appends the value as JSON, but stops soon after `out` has more than kShownMax bytes.
void AppendStart(const Value& value, std::string& out) {
  const auto append_text = [&out](std::string_view text) {
    AppendJson(Value::Text(std::string(CutAtCharacter(text, kShownMax))), out);
  };
  switch (value.kind()) {
    case Value::Kind::kText:
      return append_text(value.text());
    case Value::Kind::kList:
      out += '[';
      for (const Value& item : value.list()) {
        if (out.back() != '[') out += ',';
        AppendStart(item, out);
        if (out.size() > kShownMax) return;
      }
      out += ']';
      return;
    case Value::Kind::kMap: {
      out += '{';
      const auto members = value.shared_members();
      for (const auto& [key, member] : *members) {
        if (out.back() != '{') out += ',';
        append_text(key);
        out += ':';
        AppendStart(member, out);
        if (out.size() > kShownMax) return;
      }
      out += '}';
      return;
    }
    default:
      return AppendJson(value, out);
  }
}

std::string Shown(const Value& value) {
  std::string json;
  AppendStart(value, json);
  if (json.size() <= kShownMax) return json;
  return std::string(CutAtCharacter(json, kShownMax)) + "…";
}

bool HasType(Value& value, const std::string& type) {
  using Kind = Value::Kind;
  if (type == "integer" && value.kind() == Kind::kDouble) {
    constexpr double kExact = 9007199254740992;  // 2^53
    const double number = value.number();
    if (std::trunc(number) != number || std::abs(number) > kExact) return false;
    value = Value::Int(static_cast<std::int64_t>(number));
  }
  switch (value.kind()) {
    case Kind::kBool:
      return type == "boolean";
    case Kind::kInt:
      return type == "integer" || type == "number";
    case Kind::kDouble:
      return type == "number";
    case Kind::kText:
      return type == "string";
    case Kind::kList:
      return type == "array";
    case Kind::kMap:
      return type == "object";
    case Kind::kUndefined:
    case Kind::kNull:
      break;
  }
  return false;
}

bool Less(const Value& left, const Value& right) {
  if (left.kind() == Value::Kind::kInt && right.kind() == Value::Kind::kInt) {
    return left.int_value() < right.int_value();
  }
  return left.number() < right.number();
}

// The values of an `enum`. A list can have many items, and each is looked up.
class AllowedValues {
 public:
  explicit AllowedValues(Value all) : all_(std::move(all)) {
    ValueList others;
    for (const Value& one : all_.list()) {
      if (one.kind() == Value::Kind::kText) {
        texts_.push_back(one.text());
      } else {
        others.push_back(one);
      }
    }
    std::ranges::sort(texts_);
    others_ = Value::List(std::move(others));
  }

  const Value& all() const { return all_; }
  Result<bool> Contain(const Value& value, ExpressionMeter& meter) const {
    if (value.kind() != Value::Kind::kText) {
      return CompareValues(ExpressionOp::kIn, value, others_, meter);
    }
    if (!meter.Read(value.text().size())) return OverLimit();
    return std::ranges::binary_search(texts_, std::string_view(value.text()));
  }

 private:
  Value all_;
  std::vector<std::string_view> texts_;  // in all_
  Value others_;
};

// A declaration, prepared for checking any number of values. Methods return false if the budget is
// exceeded.
class Declaration {
 public:
  // `words` and the others must outlive it.
  Declaration(const Value& words, ExpressionMeter& meter, std::vector<Fault>& faults)
      : words_(words), type_(words.Get("type")), meter_(meter), faults_(faults) {}

  bool Check(Value& value, const std::string& pointer) {
    if (faults_.size() >= kFaultsMax) return true;
    if (!type_.undefined() && !HasType(value, type_.text())) {
      Add(pointer, "must be of type " + type_.text() + ", not " + Shown(value));
      return true;
    }
    if (!CheckEnum(value, pointer)) return Over(pointer);
    if (value.is_number()) CheckNumber(value, pointer);
    if (value.kind() == Value::Kind::kText && !CheckText(value.text(), pointer)) {
      return Over(pointer);
    }
    return value.kind() != Value::Kind::kList || CheckItems(value, pointer);
  }

 private:
  void Add(const std::string& pointer, std::string message) {
    faults_.push_back(Fault{pointer, std::move(message)});
  }

  bool Over(const std::string& pointer) {
    Add(pointer,
        "checking this needs more work than the limit for all inputs together allows; give "
        "shorter values, or simplify the patterns and enums of the plan's inputs");
    return false;
  }

  bool CheckEnum(const Value& value, const std::string& pointer) {
    if (!allowed_) {
      Value all = words_.Get("enum");
      if (all.undefined()) return true;
      if (!meter_.Read(all)) return false;
      allowed_.emplace(std::move(all));
    }
    const Result<bool> allowed = allowed_->Contain(value, meter_);
    if (!allowed) return false;
    if (!*allowed) {
      Add(pointer, "must be one of " + Shown(allowed_->all()) + ", not " + Shown(value));
    }
    return true;
  }

  void CheckNumber(const Value& value, const std::string& pointer) {
    const Value minimum = words_.Get("minimum");
    const Value maximum = words_.Get("maximum");
    if (!minimum.undefined() && Less(value, minimum)) {
      Add(pointer, "must be at least " + Shown(minimum));
    }
    if (!maximum.undefined() && Less(maximum, value)) {
      Add(pointer, "must be at most " + Shown(maximum));
    }
  }

  // `least` and `most` are the keywords of the declaration that hold the limits.
  void CheckCount(std::size_t count, std::string_view least, std::string_view most,
                  std::string_view what, const std::string& pointer) {
    const Value minimum = words_.Get(least);
    const Value maximum = words_.Get(most);
    const auto number = static_cast<std::int64_t>(count);
    if (!minimum.undefined() && number < minimum.int_value()) {
      Add(pointer, "must have at least " + Shown(minimum) + " " + std::string(what));
    }
    if (!maximum.undefined() && number > maximum.int_value()) {
      Add(pointer, "must have at most " + Shown(maximum) + " " + std::string(what));
    }
  }

  bool CheckText(const std::string& text, const std::string& pointer) {
    CheckCount(CountCharacters(text), "minLength", "maxLength", "characters", pointer);
    const Value pattern = words_.Get("pattern");
    if (pattern.undefined()) return true;
    if (!pattern_) {
      auto parsed = Pattern::Parse(pattern.text(), meter_);
      if (!parsed) return false;
      pattern_ = std::move(*parsed);
    }
    const Result<bool> matches = pattern_->Matches(text, meter_);
    if (!matches) return false;
    if (!*matches) Add(pointer, "must match the pattern " + pattern.text());
    return true;
  }

  bool CheckItems(Value& value, const std::string& pointer) {
    CheckCount(value.list().size(), "minItems", "maxItems", "items", pointer);
    if (!items_) {
      item_words_ = words_.Get("items");
      if (item_words_.undefined()) return true;
      items_ = std::make_unique<Declaration>(item_words_, meter_, faults_);
    }
    ValueList checked = value.list();
    for (std::size_t i = 0; i < checked.size(); ++i) {
      if (!items_->Check(checked[i], pointer + "/" + std::to_string(i))) return false;
    }
    value = Value::List(std::move(checked));
    return true;
  }

  const Value& words_;
  const Value type_;
  ExpressionMeter& meter_;
  std::vector<Fault>& faults_;
  // Made for the first value that needs them.
  std::optional<AllowedValues> allowed_;
  std::optional<Pattern> pattern_;
  Value item_words_;
  std::unique_ptr<Declaration> items_;
};

}  // namespace

bool CheckValue(const Value& declaration, Value& value, const std::string& pointer,
                ExpressionMeter& meter, std::vector<Fault>& faults) {
  return Declaration(declaration, meter, faults).Check(value, pointer);
}

}  // namespace everstep
