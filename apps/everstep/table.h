#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "look.h"

namespace everstep::cli {

struct Cell {
  std::string text;
  Colour colour = Colour::kPlain;

  Cell(std::string_view content, Colour in = Colour::kPlain)  // NOLINT(google-explicit-constructor)
      : text(Printable(content)), colour(in) {}
  Cell(const std::string& content) : Cell(std::string_view(content)) {}  // NOLINT
  Cell(const char* content) : Cell(std::string_view(content)) {}         // NOLINT
};

// Rows under a header, with aligned columns; numbers are right-aligned. The last column is cut to
// the width of a terminal.
class Table {
 public:
  explicit Table(std::vector<std::string_view> header) : header_(std::move(header)) {}

  void Add(std::vector<Cell> row);  // requires as many cells as the header has
  std::size_t rows() const { return rows_.size(); }
  // Returns the rows added since the last call, the first time with the header. Columns never
  // shrink.
  std::string TakeText(const Look& look);

 private:
  void FitColumns();

  std::vector<std::string_view> header_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::size_t> widths_;  // empty before the first TakeText
  std::vector<bool> right_;
};

// The facts about one thing, as "name   value" lines.
class Facts {
 public:
  void Add(std::string_view name, Cell value);
  std::string Format(const Look& look) const;

 private:
  std::vector<std::pair<std::string_view, Cell>> facts_;
};

}  // namespace everstep::cli
