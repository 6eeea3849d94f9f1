#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace everstep {

// Two servers that do the same with one io thread: answer GET with kSmallAnswer, and POST with the
// body that was sent. Each listens on a free port of 127.0.0.1, calls `ready` with its address, and
// serves until the process ends.
using Ready = std::function<void(const std::string& address)>;
void ServeWithNet(const Ready& ready);    // src/net
void ServeWithBeast(const Ready& ready);  // Boost.Beast

inline constexpr std::string_view kSmallAnswer =
    R"({"runId":"0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a","status":"COMPLETED"})";

}  // namespace everstep
