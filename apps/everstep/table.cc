#include "table.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace everstep::cli {
namespace {

constexpr std::string_view kGap = "  ";

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string Spaces(std::size_t width, std::string_view text) {
  const std::size_t columns = ColumnsOf(text);
  return std::string(columns < width ? width - columns : 0, ' ');
}

}  // namespace

void Table::Add(std::vector<Cell> row) {
  EVERSTEP_ASSERT(row.size() == header_.size());
  rows_.push_back(std::move(row));
}

void Table::FitColumns() {
  const bool first = widths_.empty();
  for (std::size_t c = 0; c < header_.size(); ++c) {
    if (first) widths_.push_back(ColumnsOf(header_[c]));
    bool numbers = !rows_.empty();
    for (const auto& row : rows_) {
      widths_[c] = std::max(widths_[c], ColumnsOf(row[c].text));
      numbers = numbers && IsNumber(row[c].text);
    }
    if (first) right_.push_back(numbers);
  }
}

std::string Table::TakeText(const Look& look) {
  const bool first = widths_.empty();
  FitColumns();
  std::size_t left_of_last = 0;
  for (std::size_t c = 0; c + 1 < widths_.size(); ++c) left_of_last += widths_[c] + kGap.size();
  const std::size_t last_width = look.columns > left_of_last + 8 ? look.columns - left_of_last : 8;

  std::string out;
  const auto write = [&](std::size_t c, std::string_view text, Colour colour) {
    const bool is_last = c + 1 == widths_.size();
    const std::string shown = is_last ? Shortened(text, last_width, look) : std::string(text);
    if (right_[c]) out += Spaces(widths_[c], shown);
    out += look.Paint(colour, shown);
    if (!right_[c] && !is_last) out += Spaces(widths_[c], shown);
    if (!is_last) {
      out += kGap;
    } else {
      out.resize(out.find_last_not_of(' ') + 1);  // after an empty last cell
      out += "\n";
    }
  };
  if (first) {
    for (std::size_t c = 0; c < header_.size(); ++c) write(c, header_[c], Colour::kBold);
  }
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) write(c, row[c].text, row[c].colour);
  }
  rows_.clear();
  return out;
}

void Facts::Add(std::string_view name, Cell value) { facts_.emplace_back(name, std::move(value)); }

std::string Facts::Format(const Look& look) const {
  std::size_t width = 0;
  for (const auto& [name, value] : facts_) width = std::max(width, ColumnsOf(name));
  std::string out;
  for (const auto& [name, value] : facts_) {
    out += look.Paint(Colour::kDim, name) + Spaces(width, name);
    out += std::string(kGap) + look.Paint(value.colour, value.text) + "\n";
  }
  return out;
}

}  // namespace everstep::cli
