#pragma once

#include <string_view>

namespace everstep {

// The program that a warm interpreter runs, given to `python3 -I -u -c`. Reads frames from its
// standard input and answers on its standard output; a frame is a decimal length, a line feed, and
// that many bytes of JSON.
//
//   task    {"code"|"file": text, "args": map, "cwd": text, "env": map, "capture": bytes}
//   beat    {"beat": true}
//   answer  {"ok": true, "value": any, …} or {"ok": false, "type", "message", "traceback", …},
//           each with "stdout", "stderr", and "dirty" when the interpreter should not be used again
extern const std::string_view kPythonWorker;

}  // namespace everstep
