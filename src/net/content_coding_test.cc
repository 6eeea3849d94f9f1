#include "net/content_coding.h"

#include <gtest/gtest.h>

#include "net/response_head.h"

namespace everstep {
namespace {

TEST(ContentCoding, AcceptEncodingIsReadWithItsQualities) {
  for (const char* yes : {"gzip", "GZIP", "x-gzip", "br, gzip", "gzip;q=0.001", "gzip ; q=1", "*",
                          "identity;q=0, *;q=0.5", "deflate;q=0,gzip"}) {
    EXPECT_TRUE(AcceptsGzip(yes)) << yes;
  }
  for (const char* no : {"", "br", "gzip;q=0", "gzip;q=0.000", "gzip; Q=0, *", "*;q=0", "gzipped",
                         "identity", ",,", ";q=1"}) {
    EXPECT_FALSE(AcceptsGzip(no)) << no;
  }
}

TEST(ContentCoding, OnlyTextIsCompressible) {
  for (const char* yes : {"application/json", "Application/JSON; charset=utf-8", "text/html",
                          "application/problem+json", "application/x-ndjson"}) {
    EXPECT_TRUE(IsCompressible(yes)) << yes;
  }
  for (const char* no : {"", "image/png", "application/octet-stream", "application/jsonx"}) {
    EXPECT_FALSE(IsCompressible(no)) << no;
  }
}

TEST(ContentCoding, PartialAndEncodedResponsesAreLeftAlone) {
  const std::string text(5'000, 'a');
  ServerResponse part{206, {{"Content-Type", "text/plain"}}, text};
  CompressResponse(part, true, 100);
  EXPECT_EQ(part.body, text);
  ServerResponse encoded{200, {{"Content-Type", "text/plain"}, {"content-encoding", "br"}}, text};
  CompressResponse(encoded, true, 100);
  EXPECT_EQ(encoded.body, text);
}

TEST(ResponseHead, TheDateIsInGmt) {
  EXPECT_EQ(DateLine(Timestamp(std::chrono::seconds(784'111'777))),
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
}

}  // namespace
}  // namespace everstep
