#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/timestamp.h"
#include "net/http_parser.h"
#include "net/http_server.h"

namespace everstep {

// How an answer is framed on its connection.
struct ResponseFraming {
  bool head_only = false;  // the answer to a HEAD request
  bool stream = false;     // its length is unknown
  bool http_1_0 = false;
  bool close = false;
};

// Appends the head of the answer with the empty line. `date_line` is the result of DateLine.
// Characters that are not allowed in headers become spaces, so that a value cannot end its line.
void AppendResponseHead(const ServerResponse& response, ResponseFraming framing,
                        std::string_view date_line, std::string& out);

// Whether an answer with this status has a body.
bool HasBody(int status);

// Compresses the body if that is worthwhile. A strong ETag becomes a weak one, because the bytes
// change. A response that already has a Content-Encoding is left unchanged.
void CompressResponse(ServerResponse& response, bool accepted, std::size_t bytes_min);

// "Date: Sun, 06 Nov 1994 08:49:37 GMT", with its line end.
std::string DateLine(Timestamp now);
// The line for the current time, computed once a second by each thread.
std::string_view DateLineNow();

ServerResponse ProblemResponse(const HttpRefusal& refusal);

}  // namespace everstep
