#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/source_tree.h"

namespace everstep {

// The house rules that a text search can decide. Each takes one file and says where it breaks the
// rule; none looks at anything but its arguments.

// Clocks, sleeps, randomness and the environment outside the ports.
std::vector<Finding> FindBannedCalls(const SourceFile& file);
// Notes to oneself: work is done or it is not in the code.
std::vector<Finding> FindLeftovers(const SourceFile& file);
// Types whose names say nothing: Manager, Helper …
std::vector<Finding> FindEmptyNames(const SourceFile& file);
// Folders that collect what has no home.
std::vector<Finding> FindAtticFolders(const SourceFile& file);
// Lines over 100 characters, files over 500 lines.
std::vector<Finding> FindLongLines(const SourceFile& file);
std::vector<Finding> FindLongFile(const SourceFile& file);
// `catch (...)` where no foreign code ends.
std::vector<Finding> FindCatchAll(const SourceFile& file);
// Test files in which nothing can fail.
std::vector<Finding> FindTestWithoutAssertion(const SourceFile& file);
// Headers without #pragma once.
std::vector<Finding> FindUnguardedHeader(const SourceFile& file);

// Types of src/ and include/ that have the name of a type in another header: with one namespace the
// linker takes one of the two for both, and nobody is told.
std::vector<Finding> FindRepeatedTypes(const std::vector<SourceFile>& files);

// Error codes without a page, and pages without an error code. `pages` are file names.
std::vector<Finding> CompareErrorPages(const std::set<std::string>& codes,
                                       const std::set<std::string>& pages);

}  // namespace everstep
