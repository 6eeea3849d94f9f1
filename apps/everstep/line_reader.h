#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace everstep::cli {

struct InputLine {
  std::uint64_t number = 0;  // from 1
  std::string text;          // without the newline; empty when too_long
  bool too_long = false;
};

// Reads lines from a file or pipe in batches. A batch has the lines that are available, without
// waiting for more, so that a writer that sends line by line is answered line by line. Blank lines
// are skipped. A line longer than `line_bytes_max` is never held in memory.
class LineReader {
 public:
  LineReader(int stream, std::size_t line_bytes_max)
      : stream_(stream), line_bytes_max_(line_bytes_max) {}

  // Waits for a line, then returns up to `limit` available lines. Returns an empty batch if the
  // input has ended or failed, or on an interrupt.
  std::vector<InputLine> NextBatch(std::size_t limit);
  int error() const { return error_; }  // errno of the read that failed

 private:
  bool TakeLine(InputLine& line);
  bool ReadMore();

  int stream_;
  std::size_t line_bytes_max_;
  std::string buffer_;
  std::size_t at_ = 0;     // offset of the first byte not taken yet
  bool skipping_ = false;  // inside a line that is too long
  bool ended_ = false;
  int error_ = 0;
  std::uint64_t lines_ = 0;
};

}  // namespace everstep::cli
