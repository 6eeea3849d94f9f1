#pragma once

#include <string>

namespace everstep {

// Whether `path` names the file or directory that is open as `fd`: it was not moved, removed or
// replaced since it was opened.
bool IsNameOf(const std::string& path, int fd);

}  // namespace everstep
