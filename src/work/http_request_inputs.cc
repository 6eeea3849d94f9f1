#include "work/http_request_inputs.h"

#include <algorithm>

#include "base/encoding.h"

namespace everstep {
namespace {

constexpr std::int64_t kBytesMax = 256 << 20;
constexpr Milliseconds kTimeoutDefault{30'000};

std::string Lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

bool HasHeader(const HttpRequest& request, std::string_view lower_name) {
  return std::any_of(request.headers.begin(), request.headers.end(),
                     [&](const auto& header) { return Lowered(header.first) == lower_name; });
}

std::string Encoded(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string text;
  for (const auto& [name, value] : pairs) {
    if (!text.empty()) text.push_back('&');
    text.append(PercentEncode(name)).append("=").append(PercentEncode(value));
  }
  return text;
}

std::string WithQuery(const std::string& url, const std::string& query) {
  if (query.empty()) return url;
  const std::size_t end = std::min(url.find('#'), url.size());
  const std::string start = url.substr(0, end);
  const char mark = start.find('?') == std::string::npos ? '?' : '&';
  return start + mark + query + url.substr(end);
}

void ReadBody(Inputs& inputs, HttpRequest& request) {
  std::string type;
  int given = 0;
  if (const Value body = inputs.Get("body"); !body.undefined()) {
    ++given;
    request.body = ToJson(body);
    type = "application/json";
  }
  if (const auto text = inputs.Text("text")) {
    ++given;
    request.body = *text;
    type = "text/plain; charset=utf-8";
  }
  if (inputs.Has("form")) {
    ++given;
    request.body = Encoded(inputs.Pairs("form"));
    type = "application/x-www-form-urlencoded";
  }
  if (const auto text = inputs.Text("bodyBase64")) {
    ++given;
    auto bytes = FromBase64(*text);
    if (!bytes) inputs.Fault("bodyBase64", "is not base64");
    request.body = std::move(bytes).value_or("");
    type = "application/octet-stream";
  }
  if (given > 1)
    inputs.Fault("body, text, form, bodyBase64", "exclude each other; give one of them");
  if (given > 0 && !HasHeader(request, "content-type")) {
    request.headers.emplace_back("Content-Type", type);
  }
}

}  // namespace

HttpRequest ReadHttpRequest(Inputs& inputs, const Task& task) {
  inputs.AllowOnly({"url", "method", "headers", "query", "body", "text", "form", "bodyBase64",
                    "timeout", "followRedirects", "expectStatus", "responseType", "maxBytes",
                    "proxy"});
  HttpRequest request;
  request.headers = inputs.Pairs("headers");
  const auto url = inputs.Text("url");
  if (!url) inputs.Fault("url", "is missing");
  request.url = WithQuery(url.value_or(""), Encoded(inputs.Pairs("query")));
  ReadBody(inputs, request);
  request.method = inputs.Text("method", request.body.empty() ? "GET" : "POST");
  std::transform(request.method.begin(), request.method.end(), request.method.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  const bool safe = request.method == "GET" || request.method == "HEAD";
  if (!safe && !task.idempotency_key.empty() && !HasHeader(request, "idempotency-key")) {
    request.headers.emplace_back("Idempotency-Key", task.idempotency_key);
  }
  if (!task.traceparent.empty() && !HasHeader(request, "traceparent")) {
    request.headers.emplace_back("traceparent", task.traceparent);
    if (!task.tracestate.empty()) request.headers.emplace_back("tracestate", task.tracestate);
  }
  if (!HasHeader(request, "user-agent")) request.headers.emplace_back("User-Agent", "everstep");
  request.timeout = inputs.Duration("timeout").value_or(task.timeout.value_or(kTimeoutDefault));
  if (task.timeout) request.timeout = std::min(request.timeout, *task.timeout);
  request.redirects_max = inputs.Bool("followRedirects", true) ? 5 : 0;
  request.response_bytes_max =
      static_cast<std::size_t>(inputs.Int("maxBytes", 16 << 20, 0, kBytesMax));
  request.proxy = inputs.Text("proxy", "");
  return request;
}

}  // namespace everstep
