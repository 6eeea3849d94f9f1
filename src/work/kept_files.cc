#include "work/kept_files.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace everstep {
namespace {

Error Refused(std::string message) {
  return {ErrorCode::kInvalidArgument, "artifacts: " + std::move(message), {}};
}

bool StaysBelow(const std::string& pattern) {
  if (pattern.empty() || pattern.front() == '/') return false;
  const std::filesystem::path path(pattern);
  return std::find(path.begin(), path.end(), "..") == path.end();
}

std::string Literally(const std::string& path) {
  std::string escaped;
  for (const char c : path) {
    if (std::string_view("\\*?[").find(c) != std::string_view::npos) escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

void Match(const std::string& directory, const std::string& pattern, std::set<std::string>& names) {
  glob_t found{};
  const std::string whole = Literally(directory) + "/" + pattern;
  if (::glob(whole.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string path = found.gl_pathv[i];
      struct stat about {};
      if (::lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
      names.insert(path.substr(directory.size() + 1));
    }
  }
  ::globfree(&found);
}

std::string ContentType(const std::string& name) {
  const std::string extension = std::filesystem::path(name).extension();
  if (extension == ".json") return "application/json";
  if (extension == ".csv") return "text/csv";
  if (extension == ".html") return "text/html";
  if (extension == ".xml") return "application/xml";
  if (extension == ".txt" || extension == ".log" || extension == ".md") return "text/plain";
  return "application/octet-stream";
}

}  // namespace

Result<std::vector<ArtifactRef>> KeepFiles(const std::string& directory,
                                           const std::vector<std::string>& patterns,
                                           const ArtifactStore& store) {
  std::set<std::string> names;
  for (const std::string& pattern : patterns) {
    if (!StaysBelow(pattern)) return Refused("'" + pattern + "' must be relative, without '..'");
    Match(directory, pattern, names);
  }
  if (names.size() > kKeptFilesMax) {
    return Refused(std::to_string(names.size()) + " files match; the limit is " +
                   std::to_string(kKeptFilesMax));
  }
  std::vector<ArtifactRef> refs;
  for (const std::string& name : names) {
    auto ref = store.WriteFile(directory + "/" + name, {"file", ContentType(name), name},
                               kKeptFileBytesMax);
    if (!ref) return ref.error();
    refs.push_back(*std::move(ref));
  }
  return refs;
}

}  // namespace everstep
