#include "net/gunzip_stream.h"

#include <gtest/gtest.h>

#include "net/content_coding.h"

namespace everstep {
namespace {

using Outcome = GunzipStream::Outcome;

std::string SomeText(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * i >> 3);
  return text;
}

struct Unpacked {
  Outcome outcome = Outcome::kMore;
  std::string text;
  std::size_t rest = 0;  // of the input
};

// Passes `packed` in pieces, with room for `room` bytes at a time.
Unpacked Unpack(std::string_view packed, std::size_t piece, std::size_t room) {
  GunzipStream stream;
  Unpacked unpacked;
  while (!packed.empty() && unpacked.outcome == Outcome::kMore) {
    std::string_view input = packed.substr(0, piece);
    const std::size_t given = input.size();
    do {
      const std::size_t before = unpacked.text.size();
      unpacked.outcome = stream.Read(input, before + room, unpacked.text);
      EXPECT_LE(unpacked.text.size(), before + room);
    } while (unpacked.outcome == Outcome::kFull);
    packed.remove_prefix(given - input.size());
  }
  unpacked.rest = packed.size();
  return unpacked;
}

TEST(GunzipStream, DecodesAMemberHoweverItIsSplit) {
  for (const std::size_t size : {0U, 1U, 1'000U, 300'000U}) {
    const std::string text = SomeText(size);
    const std::string packed = Gzip(text);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{777}, packed.size()}) {
      for (const std::size_t room : {std::size_t{13}, std::size_t{1} << 20}) {
        const Unpacked unpacked = Unpack(packed, piece, room);
        EXPECT_EQ(unpacked.outcome, Outcome::kDone) << size << " " << piece << " " << room;
        EXPECT_TRUE(unpacked.text == text) << size << " " << piece << " " << room;
      }
    }
  }
}

TEST(GunzipStream, ReturnsAllOutputOfTheInputSoFar) {
  const std::string packed = Gzip(std::string(1'000'000, 'a'));
  GunzipStream stream;
  std::string text;
  std::string_view all = packed;
  // A byte may decode to many: its output needs no further input.
  while (stream.Read(all, text.size() + 1'000, text) == Outcome::kFull) continue;
  EXPECT_EQ(text.size(), 1'000'000u);
}

TEST(GunzipStream, BytesAfterTheMemberAreLeft) {
  const Unpacked unpacked = Unpack(Gzip("abc") + "next", 100, 100);
  EXPECT_EQ(unpacked.outcome, Outcome::kDone);
  EXPECT_EQ(unpacked.rest, 4u);
}

TEST(GunzipStream, DetectsDamage) {
  std::string packed = Gzip(SomeText(1'000));
  EXPECT_EQ(Unpack(packed.substr(0, packed.size() - 1), 100, 100).outcome, Outcome::kMore);
  packed[packed.size() - 6] ^= 1;  // of the checksum
  EXPECT_EQ(Unpack(packed, 100, 100).outcome, Outcome::kCorrupt);
  EXPECT_EQ(Unpack("plain text", 100, 100).outcome, Outcome::kCorrupt);
}

}  // namespace
}  // namespace everstep
