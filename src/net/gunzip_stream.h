#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;  // of zlib

namespace everstep {

// Decodes one gzip member that comes in pieces. Holds some 40 KiB, however much it decodes.
class GunzipStream {
 public:
  enum class Outcome : std::uint8_t { kMore, kFull, kDone, kCorrupt };

  GunzipStream();
  ~GunzipStream();

  // Consumes the front of `input` and appends what it stands for to `text`, until that has
  // `text_bytes_max` bytes. kMore: all was consumed, and all that follows from it was given. kFull:
  // call again with more room, also if there is no more input. kDone: the member has ended, what is
  // left of `input` is none of it. kDone and kCorrupt are the last.
  Outcome Read(std::string_view& input, std::size_t text_bytes_max, std::string& text);

 private:
  struct End {
    void operator()(z_stream_s* stream) const;
  };
  std::unique_ptr<z_stream_s, End> stream_;
};

}  // namespace everstep
