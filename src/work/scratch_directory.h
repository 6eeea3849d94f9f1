#pragma once

#include <string>

#include "everstep/result.h"

namespace everstep {

// A directory for one attempt of a step, initially empty. The destructor removes it with its
// contents.
class ScratchDirectory {
 public:
  // Creates a directory below `parent`, which is created if it is missing. Returns kStoreIo on
  // failure.
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
