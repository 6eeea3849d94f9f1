#pragma once

#include <array>
#include <string>
#include <string_view>

namespace everstep {

// The codes of the errors that the server itself answers with. Each has a page
// docs/errors/<CODE>.md; a test checks that.
inline constexpr std::array<std::string_view, 12> kServerProblems = {
    "BAD_REQUEST",
    "CONTENT_TOO_LARGE",
    "EXPECTATION_FAILED",
    "HEADERS_TOO_LARGE",
    "HTTP_VERSION_NOT_SUPPORTED",
    "INTERNAL_ERROR",
    "NOT_IMPLEMENTED",
    "OVERLOADED",
    "REQUEST_TIMEOUT",
    "TOO_MANY_CONNECTIONS",
    "UNSUPPORTED_ENCODING",
    "URI_TOO_LONG",
};

// Returns "Not Found" and so on, or an empty text for an unknown status.
std::string_view ReasonPhrase(int status);

// Returns the RFC 9457 document (application/problem+json) of an error that the server itself
// answers with. `code` is also the name of the page that explains it.
std::string ProblemJson(int status, std::string_view code, std::string_view detail);

}  // namespace everstep
