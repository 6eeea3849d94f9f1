#pragma once

#include <string>
#include <string_view>

namespace everstep {

// "Not Found" and so on; empty for a status that has no name.
std::string_view ReasonPhrase(int status);

// RFC 9457 text (application/problem+json) of an error that the server itself answers with. `code`
// is also the name of the page that explains it.
std::string ProblemJson(int status, std::string_view code, std::string_view detail);

}  // namespace everstep
