#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "flow/expression_filter.h"
#include "flow/expression_operators.h"
#include "flow/template.h"
#include "flow/value_names.h"

namespace everstep {
namespace {

// The content of docs/expressions.md: its sample names, and each table row that has an example.
struct Page {
  struct Row {
    std::string about;  // the first cell
    std::string example;
    std::string result;
  };
  std::string names;
  std::vector<Row> rows;
};

std::string Unquoted(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  if (text.size() >= 2 && text.front() == '`' && text.back() == '`') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

// Splits a table row. A bar inside a cell is written \|.
std::vector<std::string> CellsOf(std::string_view line) {
  std::vector<std::string> cells(1);
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && line.substr(i + 1).starts_with('|')) {
      cells.back().push_back(line[++i]);
    } else if (line[i] == '|') {
      cells.emplace_back();
    } else {
      cells.back().push_back(line[i]);
    }
  }
  return cells;
}

bool HasTemplate(const std::string& cell) {
  return cell.find("`") != std::string::npos &&
         (cell.find("{{") != std::string::npos || cell.find("{#") != std::string::npos ||
          cell.find("{%") != std::string::npos);
}

Page ReadPage() {
  std::ifstream file(EVERSTEP_SOURCE_DIR "/docs/expressions.md");
  Page page;
  bool in_names = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      in_names = line == "```json";
    } else if (in_names) {
      page.names += line + "\n";
    } else if (line.starts_with("|")) {
      const auto cells = CellsOf(line);
      const auto example = std::ranges::find_if(cells, HasTemplate);
      if (example == cells.end() || example + 1 == cells.end()) continue;
      page.rows.push_back({cells.front(), Unquoted(*example), Unquoted(*(example + 1))});
    }
  }
  return page;
}

std::string OutcomeOf(const std::string& text, const Names& names) {
  const auto compiled = Template::Compile(Value::Text(text));
  if (!compiled) return "fails";
  const auto value = compiled->Render(names);
  if (!value) return "fails";
  return value->undefined() ? "undefined" : ToJson(*value);
}

TEST(ExpressionDocsTest, EveryExampleGivesWhatThePageSays) {
  const Page page = ReadPage();
  const auto given = ValueFromJson(page.names);
  ASSERT_TRUE(given);
  const ValueNames names(*given);
  EXPECT_GE(page.rows.size(), 70U);
  for (const Page::Row& row : page.rows) {
    EXPECT_EQ(OutcomeOf(row.example, names), row.result) << row.example;
  }
}

TEST(ExpressionDocsTest, EveryFilterAndTestHasARow) {
  std::string first_cells;
  for (const Page::Row& row : ReadPage().rows) first_cells += row.about + "\n";
  const auto is_named = [&](std::string_view word) {
    const std::string name(word);
    return first_cells.find("`" + name + "`") != std::string::npos ||
           first_cells.find("`" + name + "(") != std::string::npos;
  };
  for (const std::string_view filter : FilterNames()) EXPECT_TRUE(is_named(filter)) << filter;
  for (const std::string_view test : KindTests()) EXPECT_TRUE(is_named(test)) << test;
}

}  // namespace
}  // namespace everstep
