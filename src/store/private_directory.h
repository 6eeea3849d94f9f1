#pragma once

#include <memory>
#include <string>
#include <utility>

#include "everstep/result.h"

namespace everstep {

// A new directory among the temporary files of the machine, removed with the object.
class PrivateDirectory {
 public:
  static Result<std::unique_ptr<PrivateDirectory>> Make();
  ~PrivateDirectory();
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace everstep
