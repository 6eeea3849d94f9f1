#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/timestamp.h"
#include "net/http_parser.h"
#include "net/http_server.h"

namespace everstep {

// How an answer is put on its connection.
struct ResponseFraming {
  bool head_only = false;  // of a HEAD request
  bool stream = false;     // its length is not known
  bool http_1_0 = false;
  bool close = false;
};

// The head of the answer, with the empty line. `date_line` is what DateLine gives. Characters that
// no header may have become spaces: what a value is made of cannot end its line.
void AppendResponseHead(const ServerResponse& response, ResponseFraming framing,
                        std::string_view date_line, std::string& out);

// True: an answer with this status has a body.
bool HasBody(int status);

// Compresses the body if it is worth it. A strong ETag becomes a weak one: the bytes are others. A
// response that has a Content-Encoding already stays as it is.
void CompressResponse(ServerResponse& response, bool accepted, std::size_t bytes_min);

// "Date: Sun, 06 Nov 1994 08:49:37 GMT", with its line end.
std::string DateLine(Timestamp now);
// That of now, made once a second by each thread.
std::string_view DateLineNow();

ServerResponse ProblemResponse(const HttpRefusal& refusal);

}  // namespace everstep
