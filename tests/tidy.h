#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/source_tree.h"

namespace everstep {

// The house rules that a text search can check. Each takes one file and reports where it breaks the
// rule; the result depends only on the arguments.

// Clocks, sleeps, randomness and the environment outside the ports.
std::vector<Finding> FindBannedCalls(const SourceFile& file);
// Leftover notes to oneself.
std::vector<Finding> FindLeftovers(const SourceFile& file);
// Words that make a sentence unclear, in code, comments, texts and documents.
std::vector<Finding> FindUnclearWords(const SourceFile& file);
// Types whose names say nothing: Manager, Helper …
std::vector<Finding> FindEmptyNames(const SourceFile& file);
// Folders that collect whatever has no home.
std::vector<Finding> FindAtticFolders(const SourceFile& file);
// Lines over 100 characters, files over 500 lines.
std::vector<Finding> FindLongLines(const SourceFile& file);
std::vector<Finding> FindLongFile(const SourceFile& file);
// `catch (...)` in code that does not call foreign code.
std::vector<Finding> FindCatchAll(const SourceFile& file);
// Test files in which nothing can fail.
std::vector<Finding> FindTestWithoutAssertion(const SourceFile& file);
// Headers without #pragma once.
std::vector<Finding> FindUnguardedHeader(const SourceFile& file);

// Types of src/ and include/ that have the same name as a type in another header. In one namespace
// the linker silently uses one of the two for both.
std::vector<Finding> FindRepeatedTypes(const std::vector<SourceFile>& files);

// The modules that write, decide and execute (store, engine, run) if they have fewer than 10
// assertions per 1,000 lines, tests excluded.
std::vector<Finding> FindTooFewAssertions(const std::vector<SourceFile>& files);

// Error codes without a page, and pages without an error code. `pages` are file names.
std::vector<Finding> CompareErrorPages(const std::set<std::string>& codes,
                                       const std::set<std::string>& pages);

}  // namespace everstep
