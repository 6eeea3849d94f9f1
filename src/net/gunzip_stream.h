#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;  // of zlib

namespace everstep {

// Decodes one gzip member that arrives in pieces. Uses about 40 KiB, however much it decodes.
class GunzipStream {
 public:
  enum class Outcome : std::uint8_t { kMore, kFull, kDone, kCorrupt };

  GunzipStream();
  ~GunzipStream();

  // Consumes the front of `input` and appends the decoded bytes to `text`, until `text` has
  // `text_bytes_max` bytes. kMore: all input was consumed and all of its output was appended.
  // kFull: call again with more room, even if there is no more input. kDone: the member has ended,
  // and the rest of `input` does not belong to it. Must not be called again after kDone or
  // kCorrupt.
  Outcome Read(std::string_view& input, std::size_t text_bytes_max, std::string& text);

 private:
  struct End {
    void operator()(z_stream_s* stream) const;
  };
  std::unique_ptr<z_stream_s, End> stream_;
};

}  // namespace everstep
