#include "net/http_parser.h"

#include <gtest/gtest.h>

#include "net/chunked_body.h"

namespace everstep {
namespace {

using Outcome = HeadParser::Outcome;

struct Parsed {
  Outcome outcome;
  int status = 0;
  ServerRequest request;
  HeadFacts facts;
  std::size_t size = 0;
};

Parsed Parse(std::string_view text, HeadLimits limits = {}) {
  HeadParser parser(limits);
  Parsed parsed;
  parsed.outcome = parser.Parse(text, parsed.request);
  if (parsed.outcome == Outcome::kRefused) parsed.status = parser.refusal().status;
  parsed.facts = parser.facts();
  parsed.size = parser.size();
  return parsed;
}

std::string Get(std::string_view headers) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(headers) + "\r\n";
}

TEST(HttpParser, ReadsMethodTargetAndHeaders) {
  const std::string text =
      "POST /v1/runs?status=x&a HTTP/1.1\r\nHost: a:80\r\nX-Mark:\t one two \r\n"
      "Content-Length: 12\r\nEmpty:\r\n\r\nrest";
  const Parsed parsed = Parse(text);
  ASSERT_EQ(parsed.outcome, Outcome::kDone);
  EXPECT_EQ(parsed.request.method, "POST");
  EXPECT_EQ(parsed.request.path, "/v1/runs");
  EXPECT_EQ(parsed.request.query, "status=x&a");
  EXPECT_EQ(parsed.request.Header("x-mark"), "one two");
  EXPECT_EQ(parsed.request.Header("empty"), "");
  EXPECT_EQ(parsed.request.headers.size(), 4u);
  EXPECT_EQ(parsed.facts.framing, BodyFraming::kLength);
  EXPECT_EQ(parsed.facts.content_length, 12u);
  EXPECT_TRUE(parsed.facts.keep_alive);
  EXPECT_EQ(text.substr(parsed.size), "rest");
}

TEST(HttpParser, AHeadThatArrivesByteByByteIsTheSame) {
  const std::string text = "\r\nGET /x HTTP/1.1\r\nHost: a\r\nB: c\r\n\r\n";
  HeadParser parser{HeadLimits()};
  ServerRequest request;
  for (std::size_t size = 0; size < text.size(); ++size) {
    ASSERT_EQ(parser.Parse(std::string_view(text).substr(0, size), request), Outcome::kMore);
  }
  ASSERT_EQ(parser.Parse(text, request), Outcome::kDone);
  EXPECT_EQ(parser.size(), text.size());
  EXPECT_EQ(request.path, "/x");
  EXPECT_EQ(request.Header("b"), "c");
}

struct RefusedCase {
  std::string_view name;
  std::string text;
  int status;
};
void PrintTo(const RefusedCase& refused, std::ostream* out) { *out << refused.name; }

class HttpParserRefuses : public testing::TestWithParam<RefusedCase> {};

TEST_P(HttpParserRefuses, WithItsStatus) {
  const Parsed parsed = Parse(GetParam().text);
  EXPECT_EQ(parsed.outcome, Outcome::kRefused);
  EXPECT_EQ(parsed.status, GetParam().status);
}

std::vector<RefusedCase> LineCases() {
  return {
      {"BareLineFeed", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
      {"BareLineFeedInHeaders", "GET / HTTP/1.1\r\nHost: a\nB: c\r\n\r\n", 400},
      {"BareLineFeedAtTheEnd", "GET / HTTP/1.1\r\nHost: a\r\n\n", 400},
      {"BareCarriageReturn", "GET / HTTP/1.1\r\nHost: a\r\nB: c\rd\r\n\r\n", 400},
      {"TwoEmptyLines", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"TlsHello", "\x16\x03\x01\x02", 400},
      {"TwoSpacesBeforeTarget", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"SpaceInTarget", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"TabInsteadOfSpace", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"SpaceAfterVersion", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400},
      {"NoVersion", "GET /\r\nHost: a\r\n\r\n", 400},
      {"VersionInLowerCase", "GET / http/1.1\r\nHost: a\r\n\r\n", 400},
      {"OtherVersion", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"Http2Preface", "PRI * HTTP/2.0\r\n\r\n", 505},
      {"LongMethod", "ABCDEFGHIJKLMNOPQRSTUVWXYZ / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"TargetIsNoPath", "GET x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"AuthorityTarget", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"Fragment", "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"TargetWithControl", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"TargetNotAscii", "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
  };
}

std::vector<RefusedCase> HeaderCases() {
  return {
      {"NoHost", "GET / HTTP/1.1\r\n\r\n", 400},
      {"TwoHosts", Get("Host: b\r\n"), 400},
      {"HostWithComma", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", 400},
      {"HostWithPath", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
      {"SpaceBeforeColon", Get("A : b\r\n"), 400},
      {"FoldedHeader", Get("A: b\r\n c\r\n"), 400},
      {"NoColon", Get("Abc\r\n"), 400},
      {"NoName", Get(": b\r\n"), 400},
      {"NameWithControl", Get("A\x01: b\r\n"), 400},
      {"NulInValue", Get(std::string("A: b\0c\r\n", 8)), 400},
      {"TwoLengths", Get("Content-Length: 1\r\nContent-Length: 1\r\n"), 400},
      {"LengthList", Get("Content-Length: 1, 1\r\n"), 400},
      {"LengthWithSign", Get("Content-Length: +1\r\n"), 400},
      {"LengthInHex", Get("Content-Length: 0x10\r\n"), 400},
      {"EmptyLength", Get("Content-Length:\r\n"), 400},
      {"LengthTooLong", Get("Content-Length: 99999999999999999999999\r\n"), 413},
      {"LengthAndChunked", Get("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"ChunkedAndLength", Get("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"), 400},
      {"ChunkedTwice", Get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"ChunkedAndMore", Get("Transfer-Encoding: chunked, gzip\r\n"), 501},
      {"GzipChunked", Get("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {"IdentityCoding", Get("Transfer-Encoding: identity\r\n"), 501},
      {"NearlyChunked", Get("Transfer-Encoding: xchunked\r\n"), 501},
      {"ChunkedInHttp10", "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"OtherExpectation", Get("Expect: tea\r\n"), 417},
      {"OtherBodyEncoding", Get("Content-Encoding: br\r\n"), 415},
      {"TwoBodyEncodings", Get("Content-Encoding: gzip, gzip\r\n"), 415},
  };
}

std::string CaseName(const testing::TestParamInfo<RefusedCase>& info) {
  return std::string(info.param.name);
}
INSTANTIATE_TEST_SUITE_P(Lines, HttpParserRefuses, testing::ValuesIn(LineCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Headers, HttpParserRefuses, testing::ValuesIn(HeaderCases()), CaseName);

TEST(HttpParser, LimitsAreRefusedBeforeTheHeadHasEnded) {
  const HeadLimits limits{.head_bytes_max = 200, .headers_max = 3, .target_bytes_max = 50};
  EXPECT_EQ(Parse("GET /" + std::string(100, 'a'), limits).status, 414);
  EXPECT_EQ(Parse("GET /" + std::string(50, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", limits).status,
            414);
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nA: " + std::string(300, 'a'), limits).status, 431);
  EXPECT_EQ(Parse(Get("A: " + std::string(300, 'a') + "\r\n"), limits).status, 431);
  EXPECT_EQ(Parse(Get("A: b\r\nA: b\r\nA: b\r\n"), limits).status, 431);
  EXPECT_EQ(Parse(Get("A: b\r\nA: b\r\n"), limits).outcome, Outcome::kDone);
}

TEST(HttpParser, ReadsWhatTheHeadSaysAboutTheConnection) {
  EXPECT_FALSE(Parse(Get("Connection: keep-alive, Close\r\n")).facts.keep_alive);
  EXPECT_TRUE(Parse(Get("Connection: keep-alive\r\n")).facts.keep_alive);
  EXPECT_FALSE(Parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").facts.keep_alive);
  EXPECT_TRUE(Parse(Get("Expect: 100-Continue\r\n")).facts.expects_continue);
  EXPECT_TRUE(Parse(Get("Content-Encoding: GZIP\r\n")).facts.gzip_body);
  EXPECT_EQ(Parse(Get("Transfer-Encoding: Chunked\r\n")).facts.framing, BodyFraming::kChunked);
  EXPECT_EQ(Parse(Get("Content-Length: 0\r\n")).facts.framing, BodyFraming::kNone);
}

TEST(HttpParser, ATargetMayBeAnAbsoluteUrl) {
  const Parsed whole = Parse("GET HTTP://a.b:80/c?d=/e HTTP/1.1\r\nHost: a.b\r\n\r\n");
  ASSERT_EQ(whole.outcome, Outcome::kDone);
  EXPECT_EQ(whole.request.path, "/c");
  EXPECT_EQ(whole.request.query, "d=/e");
  EXPECT_EQ(Parse("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n").request.path, "/");
  EXPECT_EQ(Parse("GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n").status, 400);
}

struct Chunks {
  ChunkedBody::Outcome outcome;
  int status = 0;
  std::string body;
  std::string rest;
};

Chunks ReadChunks(std::string_view text, std::size_t piece, std::size_t bytes_max = 1'000) {
  ChunkedBody decoder;
  Chunks chunks{ChunkedBody::Outcome::kMore, 0, {}, {}};
  while (!text.empty() && chunks.outcome == ChunkedBody::Outcome::kMore) {
    std::string_view input = text.substr(0, piece);
    const std::size_t size = input.size();
    chunks.outcome = decoder.Read(input, bytes_max, chunks.body);
    text.remove_prefix(size - input.size());
  }
  chunks.rest = text;
  if (chunks.outcome == ChunkedBody::Outcome::kRefused) chunks.status = decoder.refusal().status;
  return chunks;
}

TEST(ChunkedBody, IsAssembledHoweverItIsSplit) {
  const std::string text =
      "4\r\nWiki\r\n00A;x=\"y\"\r\npedia in \r\r\n0\r\nTrailer: x\r\nB:\r\n\r\nNEXT";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const Chunks chunks = ReadChunks(text, piece);
    EXPECT_EQ(chunks.outcome, ChunkedBody::Outcome::kDone) << piece;
    EXPECT_EQ(chunks.body, "Wikipedia in \r") << piece;
    EXPECT_EQ(chunks.rest, "NEXT") << piece;
  }
}

TEST(ChunkedBody, RefusesWhatIsAmbiguousOrTooMuch) {
  const std::vector<std::pair<std::string, int>> cases = {
      {"4\nWiki\r\n", 400},
      {" 4\r\nWiki\r\n", 400},
      {"4 \r\nWiki\r\n", 400},
      {"0x4\r\nWiki\r\n", 400},
      {"-4\r\nWiki\r\n", 400},
      {"\r\n", 400},
      {"g\r\n", 400},
      {";x\r\n", 400},
      {"4\r\nWikip\r\n", 400},
      {"4\r\nWiki\n", 400},
      {"4\r\nWikiXX", 400},
      {"4;a\nb\r\nWiki\r\n", 400},
      {"4;" + std::string(5'000, 'a'), 400},
      {"FFFFFFFFFFFFFFFFF\r\n", 400},
      {"FFFFFFFFFFFFFFF\r\n", 413},
      {"3E9\r\n", 413},
      {"0\r\nA b: c\r\n\r\n", 400},
      {"0\r\n folded: c\r\n\r\n", 400},
      {"0\r\nA: b\nC: d\r\n\r\n", 400},
      {"0\r\nA: " + std::string(10'000, 'a'), 431},
      {"0\r\n\rX", 400},
  };
  for (const auto& [text, status] : cases) {
    const Chunks chunks = ReadChunks(text, text.size());
    EXPECT_EQ(chunks.outcome, ChunkedBody::Outcome::kRefused) << text.substr(0, 40);
    EXPECT_EQ(chunks.status, status) << text.substr(0, 40);
    EXPECT_EQ(ReadChunks(text, 1).status, status) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace everstep
