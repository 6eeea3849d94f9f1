#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// A text file of the project; `path` is relative to the project's folder, with '/'.
struct SourceFile {
  std::string path;
  std::string text;
};

// A broken rule: where, and what to do instead.
struct Finding {
  std::string path;
  int line = 0;  // zero: the file as a whole
  std::string what;
};

// One finding a line, for the message of a failing test.
std::string ToString(const std::vector<Finding>& findings);

// All files below the named folders of the project, in order of path. Folders that are not there
// are left out.
std::vector<SourceFile> ReadSources(const std::vector<std::string>& folders);

std::vector<std::string_view> Lines(std::string_view text);

// The same text, of the same length, with comments and the content of literals blanked.
std::string CodeOnly(std::string_view text);

bool IsCode(const SourceFile& file);    // C++: .h, .cc
bool IsHeader(const SourceFile& file);  // .h
bool IsTest(const SourceFile& file);    // *_test.cc, and all below tests/
bool IsBelow(const SourceFile& file, std::string_view folder);

}  // namespace everstep
