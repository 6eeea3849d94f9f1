#include "net/body_decoder.h"

#include <gtest/gtest.h>

#include "net/content_coding.h"

namespace everstep {
namespace {

using Outcome = BodyDecoder::Outcome;

struct Decoded {
  Outcome outcome = Outcome::kMore;
  int status = 0;  // of a refusal
  std::string body;
  std::string rest;
};

struct Cut {
  std::size_t piece = 1 << 20;  // of the input
  std::size_t room = 1 << 20;   // for the output of a call
};

Decoded Decode(const HeadFacts& facts, std::string_view text, Cut cut = {},
               std::uint64_t bytes_max = 1'000) {
  BodyDecoder decoder;
  decoder.Begin(facts, bytes_max);
  Decoded decoded;
  while (!text.empty() && decoded.outcome == Outcome::kMore) {
    std::string_view input = text.substr(0, cut.piece);
    const std::size_t given = input.size();
    do {
      std::string piece;
      decoded.outcome = decoder.Read(input, cut.room, piece);
      EXPECT_LE(piece.size(), cut.room);
      decoded.body += piece;
    } while (decoded.outcome == Outcome::kFull);
    text.remove_prefix(given - input.size());
  }
  decoded.rest = text;
  if (decoded.outcome == Outcome::kRefused) decoded.status = decoder.refusal().status;
  return decoded;
}

HeadFacts Length(std::size_t length, bool gzip = false) {
  return {.framing = BodyFraming::kLength, .content_length = length, .gzip_body = gzip};
}

HeadFacts Chunked(bool gzip = false) {
  return {.framing = BodyFraming::kChunked, .gzip_body = gzip};
}

std::string AsChunks(std::string_view body) {
  constexpr std::string_view kSizes = "0123456789abcdef";
  std::string text;
  for (std::size_t size = 1; !body.empty(); size = size % 15 + 1) {
    const std::string_view chunk = body.substr(0, size);
    text.append(1, kSizes[chunk.size()]).append("\r\n").append(chunk).append("\r\n");
    body.remove_prefix(chunk.size());
  }
  return text + "0\r\n\r\n";
}

constexpr Cut kCuts[] = {{1, 1}, {1, 1'000}, {7, 3}, {1'000, 1}, {1 << 20, 1 << 20}};

TEST(BodyDecoder, ABodyIsTheSameHoweverItIsSplit) {
  const std::string body = "a body that is neither long nor short, " + std::string(40, 'a');
  const std::string packed = Gzip(body);
  for (const Cut& cut : kCuts) {
    for (const Decoded& decoded : {Decode(Length(body.size()), body + "next", cut),
                                   Decode(Chunked(), AsChunks(body) + "next", cut),
                                   Decode(Length(packed.size(), true), packed + "next", cut),
                                   Decode(Chunked(true), AsChunks(packed) + "next", cut)}) {
      EXPECT_EQ(decoded.outcome, Outcome::kDone) << cut.piece << " " << cut.room;
      EXPECT_EQ(decoded.body, body) << cut.piece << " " << cut.room;
      EXPECT_EQ(decoded.rest, "next") << cut.piece << " " << cut.room;
    }
  }
}

TEST(BodyDecoder, DecodesNoMoreThanAllowed) {
  const std::string most(1'000, 'a');
  const std::string packed = Gzip(most);
  const std::string bomb = Gzip(most + "a");
  for (const Cut& cut : kCuts) {
    EXPECT_EQ(Decode(Length(packed.size(), true), packed, cut).outcome, Outcome::kDone);
    EXPECT_EQ(Decode(Chunked(), AsChunks(most), cut).outcome, Outcome::kDone);
    EXPECT_EQ(Decode(Length(bomb.size(), true), bomb, cut).status, 413);
    EXPECT_EQ(Decode(Length(bomb.size(), true), bomb, cut).body, most);
    EXPECT_EQ(Decode(Chunked(true), AsChunks(bomb), cut).status, 413);
    EXPECT_EQ(Decode(Chunked(), AsChunks(most + "a"), cut).status, 413);
  }
}

TEST(BodyDecoder, WhatIsNotOneWholeGzipMemberIsRefused) {
  const std::string packed = Gzip("abc");
  const std::string half = packed.substr(0, packed.size() - 3);
  for (const Cut& cut : kCuts) {
    EXPECT_EQ(Decode(Length(3, true), "abc", cut).status, 400);
    EXPECT_EQ(Decode(Length(half.size(), true), half, cut).status, 400);
    EXPECT_EQ(Decode(Chunked(true), AsChunks(half), cut).status, 400);
    EXPECT_EQ(Decode(Chunked(true), AsChunks(""), cut).status, 400);
    EXPECT_EQ(Decode(Length(packed.size() + 1, true), packed + "x", cut).status, 400);
    EXPECT_EQ(Decode(Chunked(true), AsChunks(packed + packed), cut).status, 400);
  }
}

TEST(BodyDecoder, OneDecoderServesManyBodies) {
  BodyDecoder decoder;
  for (const HeadFacts& facts : {Length(3), Chunked(), Length(3)}) {
    decoder.Begin(facts, 3);
    const std::string text = facts.framing == BodyFraming::kChunked ? AsChunks("abc") : "abc";
    std::string_view input = text;
    std::string body;
    EXPECT_EQ(decoder.Read(input, 10, body), Outcome::kDone);
    EXPECT_EQ(body, "abc");
  }
}

}  // namespace
}  // namespace everstep
