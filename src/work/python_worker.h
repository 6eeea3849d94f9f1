#pragma once

#include <string_view>

namespace everstep {

// The program that a warm interpreter runs by `python3 -I -u -c`. It reads frames from its standard
// input and writes answers to its standard output. A frame is a decimal length, a line feed, and
// that many bytes of JSON.
//
//   task    {"code"|"file": text, "args": map, "cwd": text, "env": map, "capture": bytes}
//   beat    {"beat": true}
//   answer  {"ok": true, "value": any, …} or {"ok": false, "type", "message", "traceback", …},
//           each with "stdout", "stderr", and "dirty" if the interpreter must not be used again
extern const std::string_view kPythonWorker;

}  // namespace everstep
