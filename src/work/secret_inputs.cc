#include "work/secret_inputs.h"

namespace everstep {
namespace {

class Replacement {
 public:
  Replacement(std::string_view prefix, const SecretValues& values)
      : prefix_(prefix), values_(values) {}

  Value Replace(const Value& value) const {
    switch (value.kind()) {
      case Value::Kind::kText:
        return Value::Text(ReplaceInText(value.text()));
      case Value::Kind::kList: {
        ValueList items;
        for (const Value& item : value.list()) items.push_back(Replace(item));
        return Value::List(std::move(items));
      }
      case Value::Kind::kMap: {
        ValueMap replaced;
        for (const auto& [key, member] : value.members()) {
          replaced.emplace_back(key, Replace(member));
        }
        return Value::Map(std::move(replaced));
      }
      default:
        return value;
    }
  }

 private:
  std::string ReplaceInText(std::string_view text) const {
    std::string replaced;
    while (true) {
      const std::size_t at = text.find(prefix_);
      replaced.append(text.substr(0, at));
      if (at == std::string_view::npos) return replaced;
      text.remove_prefix(at + prefix_.size());
      const std::string_view name = text.substr(0, text.find(';'));
      const std::string* value = Find(name);
      replaced.append(value == nullptr ? prefix_ : std::string_view(*value));
      if (value != nullptr) text.remove_prefix(name.size() + 1);
    }
  }

  const std::string* Find(std::string_view name) const {
    for (const auto& [known, value] : values_) {
      if (known == name) return &value;
    }
    return nullptr;
  }

  const std::string_view prefix_;
  const SecretValues& values_;
};

}  // namespace

Value PutSecrets(const Value& inputs, std::string_view prefix, const SecretValues& values) {
  if (prefix.empty()) return inputs;
  return Replacement(prefix, values).Replace(inputs);
}

}  // namespace everstep
