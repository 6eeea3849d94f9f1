#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// A text file of the project; `path` is relative to the project root, with '/'.
struct SourceFile {
  std::string path;
  std::string text;
};

// A rule violation: where it is, and what to do instead.
struct Finding {
  std::string path;
  int line = 0;  // zero: the whole file
  std::string what;
};

// One finding per line, for the message of a failing test.
std::string ToString(const std::vector<Finding>& findings);

// All files below the named folders of the project, ordered by path. Missing folders are skipped.
std::vector<SourceFile> ReadSources(const std::vector<std::string>& folders);

std::vector<std::string_view> Lines(std::string_view text);

// Returns the text with comments and the content of literals blanked; its length does not change.
std::string CodeOnly(std::string_view text);

bool IsCode(const SourceFile& file);    // C++: .h, .cc
bool IsHeader(const SourceFile& file);  // .h
bool IsTest(const SourceFile& file);    // *_test.cc, and everything below tests/
bool IsBelow(const SourceFile& file, std::string_view folder);

}  // namespace everstep
