#include "net/http_transfer.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"

namespace everstep {
namespace {

constexpr std::size_t kHeaderBytesMax = 256 << 10;
constexpr std::string_view kAnyProxy = "*";
constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), Lower);
  return lowered;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const char lower = Lower(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
           kTokenMarks.find(c) != std::string_view::npos;
  });
}

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f; });
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

struct Origin {
  std::string scheme;
  std::string host;
  std::string port;
  bool operator==(const Origin&) const = default;
};

// Parses the address of a proxy as libcurl does. A missing port stays empty.
Origin ProxyOrigin(const std::string& url) {
  Origin origin;
  CURLU* parts = curl_url();
  EVERSTEP_ASSERT(parts != nullptr);
  const auto part = [&](CURLUPart which, std::string& out) {
    char* text = nullptr;
    if (curl_url_get(parts, which, &text, 0) == CURLUE_OK) out = Lowered(text);
    curl_free(text);
  };
  constexpr unsigned int kFlags = CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME;
  if (curl_url_set(parts, CURLUPART_URL, url.c_str(), kFlags) == CURLUE_OK) {
    part(CURLUPART_SCHEME, origin.scheme);
    part(CURLUPART_HOST, origin.host);
    part(CURLUPART_PORT, origin.port);
  }
  curl_url_cleanup(parts);
  return origin;
}

Origin OriginOf(const std::string& url) {
  Origin origin;
  CURLU* parts = curl_url();
  EVERSTEP_ASSERT(parts != nullptr);
  const auto part = [&](CURLUPart which, std::string& out) {
    char* text = nullptr;
    if (curl_url_get(parts, which, &text, CURLU_DEFAULT_PORT) == CURLUE_OK) out = Lowered(text);
    curl_free(text);
  };
  if (curl_url_set(parts, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK) {
    part(CURLUPART_SCHEME, origin.scheme);
    part(CURLUPART_HOST, origin.host);
    part(CURLUPART_PORT, origin.port);
  }
  curl_url_cleanup(parts);
  return origin;
}

// Whether another origin may see the header. Any other header could be a credential.
bool MayTravel(std::string_view lower_name) {
  constexpr std::array<std::string_view, 6> kHarmless = {"accept",          "accept-language",
                                                         "accept-encoding", "content-type",
                                                         "user-agent",      "cache-control"};
  return std::find(kHarmless.begin(), kHarmless.end(), lower_name) != kHarmless.end();
}

template <typename T>
void Set(CURL* handle, CURLoption option, T value) {
  EVERSTEP_ASSERT(curl_easy_setopt(handle, option, value) == CURLE_OK);
}

// The operator's proxies may have any address; all other addresses are checked.
curl_socket_t OnSocket(void* judge, curlsocktype /*purpose*/, curl_sockaddr* address) {
  auto& guard = *static_cast<AddressGuard*>(judge);
  if (guard.judges && !guard.policy.Allows(address->addr)) {
    guard.refused =
        AddressText(address->addr) + " (" + std::string(Name(RangeOf(address->addr))) + ")";
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace

void InitialiseCurl() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  EVERSTEP_ASSERT(initialised == CURLE_OK);
}

void SetConnecting(CURL* handle, const HttpRequest& request, AddressGuard& guard) {
  guard.judges = request.proxy.empty() || !guard.trusts_proxy;
  Set(handle, CURLOPT_NOSIGNAL, 1L);
  // A cancelled request does not wait for the resolver.
  Set(handle, CURLOPT_QUICK_EXIT, 1L);
  Set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  Set(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  // An empty text, unlike none at all, disables the proxy variables of the environment.
  Set(handle, CURLOPT_PROXY, request.proxy.c_str());
  // Likewise NO_PROXY, which would turn a proxied request into a direct one.
  Set(handle, CURLOPT_NOPROXY, "");
  Set(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  Set(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!request.ca_file.empty()) {
    Set(handle, CURLOPT_CAINFO, request.ca_file.c_str());
    Set(handle, CURLOPT_CAPATH, static_cast<char*>(nullptr));  // only that file
  }
  Set(handle, CURLOPT_OPENSOCKETFUNCTION, &OnSocket);
  Set(handle, CURLOPT_OPENSOCKETDATA, &guard);
}

HttpFailure FailureOf(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return HttpFailure::kBadRequest;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HttpFailure::kDns;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFailure::kTimeout;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return HttpFailure::kTls;
    case CURLE_FILESIZE_EXCEEDED:
      return HttpFailure::kTooLarge;
    default:
      return HttpFailure::kConnect;
  }
}

HttpTransfer::HttpTransfer(HttpRequest request, const AddressPolicy& policy,
                           const std::vector<std::string>& proxies, Done done)
    : request_(std::move(request)),
      proxies_(proxies),
      guard_(policy),
      deadline_(SteadyNow() + request_.timeout),
      done_(std::move(done)),
      handle_(curl_easy_init()) {
  EVERSTEP_ASSERT(handle_ != nullptr);
}

// A proxy could bypass the policy: its own address needs permission, and so does the host that it
// is to reach.
bool HttpTransfer::CheckProxy(HttpOutcome& failure) {
  if (request_.proxy.empty()) return true;
  const Origin proxy = ProxyOrigin(request_.proxy);
  guard_.trusts_proxy =
      !proxy.host.empty() && std::ranges::any_of(proxies_, [&](const std::string& known) {
        return known != kAnyProxy && ProxyOrigin(known) == proxy;
      });
  failure.failure = HttpFailure::kAddressNotAllowed;
  if (!guard_.trusts_proxy && std::ranges::find(proxies_, kAnyProxy) == proxies_.end()) {
    failure.message =
        "the proxy " + proxy.host + (proxy.port.empty() ? "" : ":" + proxy.port) +
        " is not allowed; the operator's setting tools.proxies lists the allowed proxies";
    return false;
  }
  const std::string host = OriginOf(request_.url).host;
  if (!guard_.policy.AllowsHost(host)) {
    failure.message = "connecting to " + host + " is not allowed, not even through a proxy";
    return false;
  }
  failure.failure = HttpFailure::kNone;
  return true;
}

bool HttpTransfer::CheckRequest(HttpOutcome& failure) {
  failure.failure = HttpFailure::kBadRequest;
  if (!IsToken(request_.method)) {
    failure.message = "'" + request_.method + "' is not an HTTP method";
    return false;
  }
  const std::string scheme = OriginOf(request_.url).scheme;
  if ((scheme != "http" && scheme != "https") || HasControl(request_.url)) {
    failure.message = "the URL must be a valid http:// or https:// URL";
    return false;
  }
  for (const auto& [name, value] : request_.headers) {
    if (IsToken(name) && !HasControl(value)) continue;
    failure.message = "the header '" + name + "' contains invalid characters";
    return false;
  }
  failure.failure = HttpFailure::kNone;
  return CheckProxy(failure);
}

bool HttpTransfer::Prepare(HttpOutcome& failure) {
  if (!CheckRequest(failure)) return false;
  const auto left =
      std::min(std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - SteadyNow()),
               std::chrono::milliseconds(std::chrono::hours(24)));
  if (left.count() <= 0) {
    failure.failure = HttpFailure::kTimeout;
    failure.message = "no answer within " + std::to_string(request_.timeout.count()) + " ms";
    return false;
  }
  response_ = HttpResponse();
  header_bytes_ = 0;
  CURL* handle = handle_.get();
  curl_easy_reset(handle);
  reason_.fill('\0');
  Set(handle, CURLOPT_ERRORBUFFER, reason_.data());
  Set(handle, CURLOPT_PRIVATE, this);
  SetConnecting(handle, request_, guard_);
  Set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
  Set(handle, CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(std::min(left, request_.connect_timeout).count()));
  // Detects a dead peer, however long its answer may take.
  Set(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  Set(handle, CURLOPT_WRITEFUNCTION, &HttpTransfer::OnBody);
  Set(handle, CURLOPT_WRITEDATA, this);
  Set(handle, CURLOPT_HEADERFUNCTION, &HttpTransfer::OnHeader);
  Set(handle, CURLOPT_HEADERDATA, this);
  hop_sent_ = false;
  Set(handle, CURLOPT_PREREQFUNCTION, &HttpTransfer::OnSend);
  Set(handle, CURLOPT_PREREQDATA, this);
  if (curl_easy_setopt(handle, CURLOPT_URL, request_.url.c_str()) != CURLE_OK || !SetHeaders()) {
    failure.failure = HttpFailure::kBadRequest;
    failure.message = "the request is too large";
    return false;
  }
  SetMethod();
  return true;
}

void HttpTransfer::SetMethod() {
  CURL* handle = handle_.get();
  if (request_.method == "HEAD") {
    Set(handle, CURLOPT_NOBODY, 1L);
    return;
  }
  if (request_.method != "GET" || !request_.body.empty()) {
    Set(handle, CURLOPT_POST, 1L);
    Set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    Set(handle, CURLOPT_POSTFIELDS, request_.body.data());
  }
  Set(handle, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
}

bool HttpTransfer::SetHeaders() {
  header_list_.reset();
  bool typed = false;
  const auto add = [this](const std::string& line) {
    curl_slist* list = curl_slist_append(header_list_.get(), line.c_str());
    if (list == nullptr) return false;
    (void)header_list_.release();
    header_list_.reset(list);
    return true;
  };
  // Removes what libcurl adds by itself: waiting for "100 Continue", and the type of a form for any
  // body.
  if (!add("Expect:")) return false;
  for (const auto& [name, value] : request_.headers) {
    typed = typed || Lowered(name) == "content-type";
    if (!add(value.empty() ? name + ";" : name + ": " + value)) return false;
  }
  if (!typed && !add("Content-Type:")) return false;
  Set(handle_.get(), CURLOPT_HTTPHEADER, header_list_.get());
  return true;
}

std::size_t HttpTransfer::OnBody(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  const std::size_t total = size * count;
  if (transfer.response_.body.size() + total > transfer.request_.response_bytes_max) {
    transfer.too_large_ = true;
    return 0;
  }
  transfer.response_.body.append(bytes, total);
  return total;
}

std::size_t HttpTransfer::OnHeader(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  const std::size_t total = size * count;
  transfer.header_bytes_ += total;
  if (transfer.header_bytes_ > kHeaderBytesMax) {
    transfer.too_large_ = true;
    return 0;
  }
  const std::string_view line = Trimmed({bytes, total});
  if (line.starts_with("HTTP/")) {
    transfer.response_.headers.clear();  // those of "100 Continue" or the like
    return total;
  }
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    transfer.response_.headers.emplace_back(Lowered(Trimmed(line.substr(0, colon))),
                                            Trimmed(line.substr(colon + 1)));
  }
  return total;
}

// Called when the connection is established and the request is about to be sent. If a kept
// connection breaks without an answer, libcurl sends the request again by itself. The peer may have
// received it nevertheless, so only requests that change nothing may be sent twice.
int HttpTransfer::OnSend(void* self, char* /*to*/, char* /*from*/, int /*to_port*/,
                         int /*from_port*/) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  const bool is_safe = transfer.request_.method == "GET" || transfer.request_.method == "HEAD";
  if (transfer.hop_sent_ && !is_safe) return CURL_PREREQFUNC_ABORT;
  transfer.hop_sent_ = true;
  transfer.sent_ = true;
  return CURL_PREREQFUNC_OK;
}

bool HttpTransfer::Hopped(CURLcode code, HttpOutcome& outcome) {
  if (code != CURLE_OK) {
    outcome = Failure(code);
    return false;
  }
  long status = 0;
  char* target = nullptr;
  curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(handle_.get(), CURLINFO_REDIRECT_URL, &target);
  response_.status = static_cast<int>(status);
  response_.url = request_.url;
  const bool redirect =
      status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  if (redirect && target != nullptr && request_.redirects_max > 0) {
    return FollowRedirect(target, outcome);
  }
  outcome.response = std::move(response_);
  return false;
}

bool HttpTransfer::FollowRedirect(const std::string& target, HttpOutcome& outcome) {
  outcome.failure = HttpFailure::kRedirect;
  if (++redirects_ > request_.redirects_max) {
    outcome.message = "more than " + std::to_string(request_.redirects_max) + " redirects";
    return false;
  }
  const Origin from = OriginOf(request_.url);
  const Origin to = OriginOf(target);
  if (to.scheme != "https" && to.scheme != from.scheme) {
    outcome.message = "a redirect from " + from.scheme + " to " +
                      (to.scheme.empty() ? "no URL" : to.scheme) + " is not followed";
    return false;
  }
  outcome = HttpOutcome();
  const bool becomes_get =
      request_.method != "HEAD" && request_.method != "GET" &&
      (response_.status == 303 || (response_.status <= 302 && request_.method == "POST"));
  if (becomes_get) {
    request_.method = "GET";
    request_.body.clear();
  }
  std::erase_if(request_.headers, [&](const auto& header) {
    const std::string name = Lowered(header.first);
    return (to != from && !MayTravel(name)) || (becomes_get && name.starts_with("content-"));
  });
  request_.url = target;
  return true;
}

HttpOutcome HttpTransfer::Failure(CURLcode code) const {
  HttpOutcome outcome;
  outcome.failure = FailureOf(code);
  outcome.message = reason_[0] != '\0' ? reason_.data() : curl_easy_strerror(code);
  outcome.connected = sent_;
  if (too_large_ || outcome.failure == HttpFailure::kTooLarge) {
    outcome.failure = HttpFailure::kTooLarge;
    outcome.message =
        "the answer has more than " + std::to_string(request_.response_bytes_max) + " bytes";
  } else if (code == CURLE_COULDNT_CONNECT && !guard_.refused.empty()) {
    outcome.failure = HttpFailure::kAddressNotAllowed;
    outcome.message = "connecting to " + guard_.refused + " is not allowed";
  } else if (code == CURLE_ABORTED_BY_CALLBACK) {
    outcome.message = "the connection broke before the answer arrived";
  } else if (outcome.failure == HttpFailure::kTimeout) {
    outcome.message = "no answer within " + std::to_string(request_.timeout.count()) + " ms";
  }
  return outcome;
}

}  // namespace everstep
