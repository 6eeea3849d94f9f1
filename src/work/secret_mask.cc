#include "work/secret_mask.h"

#include <algorithm>

#include "base/encoding.h"
#include "work/unescaped_text.h"

namespace everstep {
namespace {

// Shorter forms are not masked: they would match ordinary text.
constexpr std::size_t kFormBytesMin = 4;
// The levels of JSON in JSON that are searched.
constexpr int kLevelsMax = 8;

// The base64 characters that are determined by `value` alone if `before` bytes (mod 3) precede it,
// whatever follows it.
std::string Base64Core(const std::string& value, std::size_t before) {
  const std::size_t first = before == 0 ? 0 : before + 1;
  const std::string text = Base64(std::string(before, '\0') + value);
  const std::size_t end = (before + value.size()) * 8 / 6;
  return end > first ? text.substr(first, end - first) : std::string();
}

std::string UrlAlphabet(std::string text) {
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::string LowerHex(std::string percent_encoded) {
  for (std::size_t i = 0; i + 2 < percent_encoded.size(); ++i) {
    if (percent_encoded[i] != '%') continue;
    for (const std::size_t at : {i + 1, i + 2}) {
      const char c = percent_encoded[at];
      if (c >= 'A' && c <= 'F') percent_encoded[at] = static_cast<char>(c - 'A' + 'a');
    }
  }
  return percent_encoded;
}

// The encoding of form fields, in which a space is "+".
std::string PlusForSpace(std::string_view percent_encoded) {
  std::string field;
  while (!percent_encoded.empty()) {
    const bool space = percent_encoded.starts_with("%20");
    field.push_back(space ? '+' : percent_encoded.front());
    percent_encoded.remove_prefix(space ? 3 : 1);
  }
  return field;
}

bool HasKey(const ValueMap& members, const std::string& key) {
  return key.find(SecretMask::kShown) != std::string::npos &&
         std::any_of(members.begin(), members.end(),
                     [&](const ValueMember& member) { return member.first == key; });
}

}  // namespace

SecretMask::SecretMask(const std::vector<std::string>& values) {
  const auto add = [this](std::string form) {
    if (form.size() >= kFormBytesMin) forms_.push_back(std::move(form));
  };
  for (const std::string& value : values) {
    if (value.size() < kSecretBytesMin) continue;
    add(value);
    const std::string percent = PercentEncode(value);
    for (const std::string& form : {percent, PlusForSpace(percent)}) {
      add(form);
      add(LowerHex(form));
    }
    std::string whole = Base64(value);
    add(whole);
    add(UrlAlphabet(std::move(whole)));
    for (std::size_t before = 0; before < 3; ++before) {
      std::string core = Base64Core(value, before);
      add(core);
      add(UrlAlphabet(std::move(core)));
    }
  }
  std::sort(forms_.begin(), forms_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  forms_.erase(std::unique(forms_.begin(), forms_.end()), forms_.end());
}

std::string SecretMask::MaskPlain(std::string_view text) const {
  std::string masked(text);
  for (const std::string& form : forms_) {
    std::size_t at = masked.find(form);
    if (at == std::string::npos) continue;
    std::string next;
    std::size_t clean = 0;
    for (; at != std::string::npos; at = masked.find(form, clean)) {
      next.append(masked, clean, at - clean).append(kShown);
      clean = at + form.size();
    }
    masked = next.append(masked, clean);
  }
  return masked;
}

std::string SecretMask::Mask(std::string_view text) const {
  std::string masked = MaskPlain(text);
  UnescapedText unescaped(masked);
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (int level = 0; !empty() && level < kLevelsMax && unescaped.Next(); ++level) {
    for (const std::string& form : forms_) {
      const std::string& plain = unescaped.text();
      for (std::size_t at = plain.find(form); at != std::string::npos;
           at = plain.find(form, at + form.size())) {
        found.push_back(unescaped.SourceOf(at, at + form.size()));
      }
    }
  }
  std::ranges::sort(found);
  std::string whole;
  std::size_t clean = 0;
  for (const auto& [begin, end] : found) {
    if (begin >= clean) whole.append(masked, clean, begin - clean).append(kShown);
    clean = std::max(clean, end);
  }
  return whole.append(masked, clean);
}

std::string SecretMask::MaskCut(std::string_view text) const {
  std::string masked = Mask(text);
  UnescapedText unescaped(masked);
  std::size_t begin = masked.size();
  int level = 0;
  do {
    unescaped.DropCutEscape();
    const std::string& plain = unescaped.text();
    std::size_t longest = 0;
    for (const std::string& form : forms_) {
      for (std::size_t size = std::min(form.size(), plain.size()); size > longest; --size) {
        if (plain.ends_with(std::string_view(form).substr(0, size))) longest = size;
      }
    }
    if (longest > 0) {
      begin = std::min(begin, unescaped.SourceOf(plain.size() - longest, plain.size()).first);
    }
  } while (++level < kLevelsMax && unescaped.Next());
  if (begin < masked.size()) masked.replace(begin, std::string::npos, kShown);
  return masked;
}

Value SecretMask::Mask(const Value& value) const {
  if (empty()) return value;
  switch (value.kind()) {
    case Value::Kind::kText:
      return Value::Text(Mask(value.text()));
    case Value::Kind::kList: {
      ValueList items;
      for (const Value& item : value.list()) items.push_back(Mask(item));
      return Value::List(std::move(items));
    }
    case Value::Kind::kMap: {
      ValueMap members;
      for (const auto& [key, member] : value.members()) {
        std::string shown = Mask(std::string_view(key));
        while (HasKey(members, shown)) shown.push_back('*');
        members.emplace_back(std::move(shown), Mask(member));
      }
      return Value::Map(std::move(members));
    }
    case Value::Kind::kInt:
    case Value::Kind::kDouble: {
      const std::string text = ToText(value);
      std::string masked = Mask(std::string_view(text));
      return masked == text ? value : Value::Text(std::move(masked));
    }
    default:
      return value;
  }
}

}  // namespace everstep
