#pragma once

#include <string>

#include "everstep/result.h"

namespace everstep {

// An empty directory for one attempt of a step, removed with everything in it.
class ScratchDirectory {
 public:
  // Below `parent`, which is made when it is missing. kStoreIo.
  static Result<ScratchDirectory> Make(const std::string& parent);
  ~ScratchDirectory();
  ScratchDirectory(ScratchDirectory&& other) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace everstep
