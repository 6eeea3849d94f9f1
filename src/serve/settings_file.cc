#include "serve/settings_file.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "flow/document.h"
#include "flow/nearest.h"

namespace everstep {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::string_view kTenants = "admission.tenants";
constexpr std::string_view kWebhooks = "webhooks";

using enum SettingShape;
template <auto kMember>
SettingTarget OfTenant(AdmissionLimit& limit) {
  return &(limit.*kMember);
}

constexpr TenantSetting kTenantTable[] = {
    {"running", kCount, "concurrent runs", OfTenant<&AdmissionLimit::running_max>},
    {"startsPerSecond", kNumber, "starts per second", OfTenant<&AdmissionLimit::starts_per_second>},
    {"burst", kCount, "starts allowed in a burst", OfTenant<&AdmissionLimit::starts_burst>},
    {"weight", kCount, "its share relative to other tenants", OfTenant<&AdmissionLimit::weight>},
};

bool HasContent(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') return true;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return false;
}

std::optional<std::string> ScalarText(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kBool:
      return node.bool_value() ? "true" : "false";
    case Node::Kind::kInt:
      return std::to_string(node.int_value());
    case Node::Kind::kDouble: {
      char text[32];
      return std::string(text, std::to_chars(text, text + sizeof(text), node.double_value()).ptr);
    }
    case Node::Kind::kText:
      return std::string(node.text());
    default:
      return std::nullopt;
  }
}

class Reader {
 public:
  Reader(SettingsFile& file, std::span<const std::string_view> keys, std::vector<Fault>& faults)
      : file_(file), keys_(keys), faults_(faults) {}

  void ReadMap(const Node& map, const std::string& path) {
    for (const Node& member : map.children()) {
      const std::string key =
          path.empty() ? std::string(member.key) : path + "." + std::string(member.key);
      if (key == kTenants) {
        ReadTenants(member);
      } else if (key == kWebhooks) {
        ReadWebhooks(member);
      } else if (IsSetting(key)) {
        if (auto given = ReadTexts(member, key)) file_.values[key] = *std::move(given);
      } else if (!IsGroup(key)) {
        FaultUnknown(member, path, NamesUnder(path));
      } else if (IsMap(member, key)) {
        ReadMap(member, key);
      }
    }
  }

 private:
  bool IsSetting(std::string_view key) const {
    return std::ranges::find(keys_, key) != keys_.end();
  }
  bool IsGroup(const std::string& key) const {
    return std::ranges::any_of(
        keys_, [&](std::string_view known) { return known.starts_with(key + "."); });
  }
  std::set<std::string_view> NamesUnder(const std::string& path) const {
    std::set<std::string_view> names;
    const std::string begin = path.empty() ? "" : path + ".";
    const auto add = [&](std::string_view key) {
      if (!key.starts_with(begin)) return;
      const std::string_view rest = key.substr(begin.size());
      names.insert(rest.substr(0, rest.find('.')));
    };
    for (const std::string_view key : keys_) add(key);
    add(kTenants);
    add(kWebhooks);
    return names;
  }

  void AddFault(const Node& node, std::string message) {
    faults_.push_back({"", std::move(message), node.line, node.column});
  }
  void FaultUnknown(const Node& member, const std::string& path,
                    const std::set<std::string_view>& known) {
    const std::vector<std::string_view> words(known.begin(), known.end());
    std::string message = "there is no setting '" + (path.empty() ? "" : path + ".") +
                          std::string(member.key) + "'" + DidYouMean(member.key, words);
    faults_.push_back({"", std::move(message), member.key_line, member.key_column});
  }
  bool IsMap(const Node& node, std::string_view key) {
    // An empty "limits:" is allowed.
    if (node.is_map() || node.kind == Node::Kind::kNull) return true;
    AddFault(node, "'" + std::string(key) + "' must be a map, not " + std::string(KindName(node)));
    return false;
  }

  std::optional<SettingsFile::Given> ReadTexts(const Node& node, std::string_view key) {
    SettingsFile::Given given{{}, node.line, node.column};
    const auto take = [&](const Node& item) {
      auto text = ScalarText(item);
      if (text) given.texts.push_back(*std::move(text));
      if (!text) AddFault(item, "'" + std::string(key) + "' needs a value here");
      return text.has_value();
    };
    if (!node.is_list()) return take(node) ? std::optional(std::move(given)) : std::nullopt;
    for (const Node& item : node.children()) {
      if (!take(item)) return std::nullopt;
    }
    return given;
  }

  void ReadTenants(const Node& map) {
    if (!IsMap(map, kTenants)) return;
    for (const Node& tenant : map.children()) {
      const std::string path = std::string(kTenants) + "." + std::string(tenant.key);
      if (!IsMap(tenant, path)) continue;
      AdmissionLimit& limit = file_.tenants[std::string(tenant.key)];
      for (const Node& member : tenant.children()) ReadLimit(member, path, limit);
    }
  }

  void ReadLimit(const Node& member, const std::string& path, AdmissionLimit& limit) {
    const auto found = std::ranges::find(TenantSettings(), member.key, &TenantSetting::key);
    if (found == TenantSettings().end()) {
      std::set<std::string_view> names;
      for (const TenantSetting& setting : TenantSettings()) names.insert(setting.key);
      return FaultUnknown(member, path, names);
    }
    const std::string key = path + "." + std::string(member.key);
    auto given = ReadTexts(member, key);
    if (!given) return;
    const bool may_be_none = found->key == "running" || found->key == "startsPerSecond";
    const std::string wrong =
        SetValue({found->shape, {}, may_be_none ? 0U : 1U}, given->texts, found->target(limit));
    if (!wrong.empty()) return AddFault(member, "'" + key + "' " + wrong);
    file_.tenant_values[path][key] = *std::move(given);
  }

  // Secrets in the file itself would be shown wherever the file is shown.
  void ReadWebhooks(const Node& map) {
    if (!IsMap(map, kWebhooks)) return;
    for (const Node& tenant : map.children()) {
      const std::string key = std::string(kWebhooks) + "." + std::string(tenant.key);
      auto given = ReadTexts(tenant, key);
      if (!given) continue;
      const bool refers = std::ranges::all_of(given->texts, [](const std::string& text) {
        return text.starts_with("file:") || text.starts_with("env:");
      });
      if (!refers) {
        AddFault(tenant, "'" + key + "' takes file:PATH or env:NAME, not the secret itself");
        continue;
      }
      file_.webhooks[std::string(tenant.key)] = *std::move(given);
    }
  }

  SettingsFile& file_;
  std::span<const std::string_view> keys_;
  std::vector<Fault>& faults_;
};

}  // namespace

std::span<const TenantSetting> TenantSettings() { return kTenantTable; }

SettingsFile ReadSettingsFile(std::string_view text, std::span<const std::string_view> keys,
                              std::vector<Fault>& faults) {
  SettingsFile file;
  if (!HasContent(text)) return file;
  const auto document = ParseDocument(text, kFileBytesMax);
  if (!document) {
    const auto& found = document.error().faults;
    faults.insert(faults.end(), found.begin(), found.end());
    return file;
  }
  faults.insert(faults.end(), document->faults.begin(), document->faults.end());
  if (!document->root.is_map()) {
    faults.push_back({"", "settings must be a map", document->root.line, document->root.column});
    return file;
  }
  Reader(file, keys, faults).ReadMap(document->root, "");
  return file;
}

}  // namespace everstep
