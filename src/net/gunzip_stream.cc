#include "net/gunzip_stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/assert.h"

namespace everstep {
namespace {

constexpr int kGzipWindow = 15 + 16;  // asks zlib for the gzip format

}  // namespace

void GunzipStream::End::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;
}

GunzipStream::GunzipStream() : stream_(new z_stream{}) {
  EVERSTEP_ASSERT(inflateInit2(stream_.get(), kGzipWindow) == Z_OK);
}

GunzipStream::~GunzipStream() = default;

GunzipStream::Outcome GunzipStream::Read(std::string_view& input, std::size_t text_bytes_max,
                                         std::string& text) {
  std::array<char, 16 << 10> piece;
  while (text.size() < text_bytes_max) {
    const std::size_t given = std::min<std::size_t>(input.size(), std::numeric_limits<uInt>::max());
    const std::size_t room = std::min(piece.size(), text_bytes_max - text.size());
    // zlib does not write there; its type only lacks const.
    stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_->avail_in = static_cast<uInt>(given);
    stream_->next_out = reinterpret_cast<Bytef*>(piece.data());
    stream_->avail_out = static_cast<uInt>(room);
    const int outcome = inflate(stream_.get(), Z_NO_FLUSH);
    input.remove_prefix(given - stream_->avail_in);
    text.append(piece.data(), room - stream_->avail_out);
    if (outcome == Z_STREAM_END) return Outcome::kDone;
    // Z_BUF_ERROR: there was nothing to do.
    if (outcome != Z_OK && outcome != Z_BUF_ERROR) return Outcome::kCorrupt;
    if (stream_->avail_out > 0 && input.empty()) return Outcome::kMore;
  }
  return Outcome::kFull;
}

}  // namespace everstep
