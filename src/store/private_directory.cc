#include "store/private_directory.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace everstep {

namespace fs = std::filesystem;

Result<std::unique_ptr<PrivateDirectory>> PrivateDirectory::Make() {
  std::error_code failed;
  std::string path = fs::temp_directory_path(failed) / "everstep-reader-XXXXXX";
  if (failed || ::mkdtemp(path.data()) == nullptr) {
    return Error{ErrorCode::kStoreIo, path + ": cannot create a temporary directory", {}};
  }
  return std::unique_ptr<PrivateDirectory>(new PrivateDirectory(std::move(path)));
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace everstep
