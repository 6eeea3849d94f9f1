#include "actor.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace everstep::cli {

Actor LocalActor(std::string_view role) {
  Actor actor;
  actor.roles = {std::string(role)};
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16 << 10> names;
  const bool known = getpwuid_r(geteuid(), &entry, names.data(), names.size(), &found) == 0 &&
                     found != nullptr && *entry.pw_name != '\0';
  actor.id = known ? entry.pw_name : "uid-" + std::to_string(geteuid());
  return actor;
}

}  // namespace everstep::cli
