#include "work/plan_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/unique_fd.h"
#include "flow/plan_ref.h"

namespace everstep {
namespace {

constexpr std::chrono::milliseconds kFetchTimeout{30'000};

Error NotAllowed(std::string_view uri, const std::string& why) {
  return {ErrorCode::kPlanUriNotAllowed, std::string(uri) + ": " + why, {}};
}

Error Unavailable(std::string_view uri, const std::string& why) {
  return {ErrorCode::kPlanUnavailable, std::string(uri) + ": " + why, {}};
}

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lowered;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// RFC 3986: letters, digits and "+-." up to the colon. Requires at least two characters, so that a
// drive letter or a plain path is not taken for a scheme.
std::string SchemeOf(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  if (colon == std::string_view::npos || colon < 2) return {};
  const std::string scheme = Lowered(uri.substr(0, colon));
  const bool fits = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
  return fits && scheme.front() >= 'a' && scheme.front() <= 'z' ? scheme : std::string();
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) {
      return std::nullopt;
    }
    out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
    i += 2;
  }
  return out.find('\0') == std::string::npos ? std::optional(out) : std::nullopt;
}

// The path of file:/path, file:///path or file://localhost/path.
std::optional<std::string> FilePath(std::string_view uri) {
  std::string_view rest = uri.substr(uri.find(':') + 1);
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    if (rest.starts_with("localhost/")) rest.remove_prefix(std::string_view("localhost").size());
  }
  if (!rest.starts_with('/')) return std::nullopt;
  return PercentDecoded(rest);
}

std::string FileUri(const std::filesystem::path& path) {
  std::string uri = "file://";
  for (const char c : path.lexically_normal().string()) {
    // Encode characters that have a meaning in a URI.
    if (c == '%' || c == '?' || c == '#' || c == ' ') {
      constexpr std::string_view kHex = "0123456789ABCDEF";
      uri.push_back('%');
      uri.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      uri.push_back(kHex[static_cast<unsigned char>(c) & 15]);
    } else {
      uri.push_back(c);
    }
  }
  return uri;
}

struct Authority {
  std::string host;
  bool credentials = false;
};

Authority AuthorityOf(std::string_view uri) {
  const std::size_t start = uri.find("://");
  if (start == std::string_view::npos) return {};
  std::string_view text = uri.substr(start + 3);
  text = text.substr(0, text.find_first_of("/?#\\"));
  Authority authority;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    authority.credentials = true;
    text.remove_prefix(at + 1);
  }
  const bool ip6 = text.starts_with('[');
  const std::size_t end = ip6 ? text.find(']') : text.find(':');
  authority.host = Lowered(ip6 ? text.substr(1, end - 1) : text.substr(0, end));
  return authority;
}

}  // namespace

PlanSource::PlanSource(const ToolOptions& options)
    : schemes_(options.plan_schemes),
      hosts_(options.plan_hosts),
      client_(AddressPolicy{.allow_private =
                                options.allow_private_addresses && !options.plan_hosts.empty()}) {}

std::string PlanSource::Resolve(std::string_view reference, std::string_view base) {
  if (!SchemeOf(reference).empty()) return std::string(reference);
  const std::string scheme = SchemeOf(base);
  if (scheme.empty() || scheme == "file") {
    std::filesystem::path folder;
    if (scheme.empty()) {
      folder = std::filesystem::path(base);
    } else {
      folder = std::filesystem::path(FilePath(base).value_or("/")).parent_path();
    }
    std::error_code failed;
    const auto path = std::filesystem::absolute(folder / reference, failed);
    return failed ? std::string(reference) : FileUri(path);
  }
  const std::size_t path = base.find('/', base.find("://") + 3);
  const std::string origin(base.substr(0, path));
  const std::string_view whole = path == std::string_view::npos ? "/" : base.substr(path);
  const std::filesystem::path beside =
      std::filesystem::path(whole.substr(0, whole.find_first_of("?#"))).parent_path();
  return origin + (beside / reference).lexically_normal().string();
}

Result<std::string> PlanSource::Fetch(std::string_view uri, std::string_view base) {
  const std::string whole = Resolve(uri, base);
  const std::string scheme = SchemeOf(whole);
  if (!Contains(schemes_, scheme)) {
    return NotAllowed(whole, "the scheme '" + scheme + "' is not allowed here");
  }
  if (scheme == "file") return FetchFile(whole);
  if (scheme == "http" || scheme == "https") return FetchHttp(whole);
  return NotAllowed(whole, "plans cannot be fetched by the scheme '" + scheme + "'");
}

Result<std::string> PlanSource::FetchFile(const std::string& uri) const {
  const auto path = FilePath(uri);
  if (!path) return NotAllowed(uri, "a file URI must have an absolute path and no host");
  const UniqueFd file(::open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Unavailable(uri, std::strerror(errno));
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return Unavailable(uri, "not a regular file");
  }
  std::string bytes(kPlanBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unavailable(uri, std::strerror(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > kPlanBytesMax) {
    return Unavailable(uri, "has more than " + std::to_string(kPlanBytesMax) + " bytes");
  }
  bytes.resize(size);
  return bytes;
}

Result<std::string> PlanSource::FetchHttp(const std::string& uri) {
  const Authority authority = AuthorityOf(uri);
  if (authority.host.empty() || authority.credentials) {
    return NotAllowed(uri, "a plan URI must have a host and no credentials");
  }
  if (!hosts_.empty() && !Contains(hosts_, authority.host)) {
    return NotAllowed(uri, "the host '" + authority.host + "' is not allowed here");
  }
  HttpRequest request;
  request.url = uri;
  request.timeout = kFetchTimeout;
  request.redirects_max = 0;
  request.response_bytes_max = kPlanBytesMax;
  request.headers = {{"Accept", "application/yaml, application/json, text/plain;q=0.9, */*;q=0.1"},
                     {"User-Agent", "everstep"}};
  HttpOutcome outcome = client_.SendAndWait(std::move(request));
  if (outcome.failure == HttpFailure::kAddressNotAllowed ||
      outcome.failure == HttpFailure::kBadRequest) {
    return NotAllowed(uri, outcome.message);
  }
  if (outcome.failure != HttpFailure::kNone) return Unavailable(uri, outcome.message);
  if (outcome.response.status != 200) {
    return Unavailable(uri,
                       "the server returned status " + std::to_string(outcome.response.status));
  }
  return std::move(outcome.response.body);
}

Result<std::shared_ptr<const Plan>> VerifyPlan(const PlanRef& ref, std::string_view document,
                                               const PlanAudience& audience) {
  if (Status digest = CheckPlanDigest(ref, document); !digest) return digest.error();
  auto plan = ReadPlan(document, audience);
  if (!plan) return plan.error();
  if (Status names =
          CheckPlanNames(ref, (*plan)->plan_id, (*plan)->plan_version, (*plan)->schema_version);
      !names)
    return names.error();
  return plan;
}

}  // namespace everstep
