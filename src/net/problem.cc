#include "net/problem.h"

#include "base/json.h"

namespace everstep {
namespace {

std::string_view SuccessPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    default:
      return {};
  }
}

std::string_view ClientErrorPhrase(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return {};
  }
}

std::string_view ServerErrorPhrase(int status) {
  switch (status) {
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return {};
  }
}

}  // namespace

std::string_view ReasonPhrase(int status) {
  if (status < 400) return SuccessPhrase(status);
  return status < 500 ? ClientErrorPhrase(status) : ServerErrorPhrase(status);
}

std::string ProblemJson(int status, std::string_view code, std::string_view detail) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("type", "/docs/errors/" + std::string(code));
  json.Member("title", ReasonPhrase(status));
  json.Member("status", static_cast<std::uint64_t>(status));
  json.Member("code", code);
  json.Member("detail", detail);
  json.EndObject();
  return text;
}

}  // namespace everstep
