#include "serve/batch_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace everstep {
namespace {

std::string Split(std::string_view body, std::string_view type = "application/json") {
  const auto batch = SplitBatch(type, body);
  if (!batch) return ToString(batch.error());
  std::string text = batch->single ? "single" : "list";
  for (const std::string_view document : batch->documents) text += "|" + std::string(document);
  return text;
}

TEST(BatchReaderTest, OneDocumentIsTakenAsItIs) {
  EXPECT_EQ(Split(R"( {"a":1} )"), R"(single| {"a":1} )");
  EXPECT_EQ(Split("nonsense"), "single|nonsense");
}

TEST(BatchReaderTest, AListIsTakenApart) {
  EXPECT_EQ(Split(R"([{"a":"x,]}\""}, {"b":[1,{"c":2}]} ])"),
            R"(list|{"a":"x,]}\""}|{"b":[1,{"c":2}]})");
  EXPECT_EQ(Split("[1, true ,null]"), "list|1|true |null");
}

TEST(BatchReaderTest, LinesAreDocuments) {
  EXPECT_EQ(Split("{\"a\":1}\n\n{\"b\":2}", "application/x-ndjson"), "list|{\"a\":1}|{\"b\":2}");
}

TEST(BatchReaderTest, WhatIsNoListIsRefused) {
  EXPECT_EQ(Split("[{}"), "INVALID_JSON: the list has no end, at byte 3");
  EXPECT_EQ(Split("[{},]"), "INVALID_JSON: the list has an item that is no JSON value, at byte 4");
  EXPECT_EQ(Split("[{} {}]"), "INVALID_JSON: expected ',' or ']', at byte 4");
  EXPECT_EQ(Split("[{}] x"), "INVALID_JSON: something follows the list, at byte 4");
  EXPECT_EQ(Split("[\"a"), "INVALID_JSON: the list has an item that is no JSON value, at byte 1");
  EXPECT_EQ(Split("[]"), "INVALID_ARGUMENT: the body has no event");
  EXPECT_EQ(Split(" "), "INVALID_ARGUMENT: the body has no event");
}

TEST(BatchReaderTest, TooManyAreRefused) {
  std::string body = "[0";
  for (std::size_t i = 0; i < kBatchDocumentsMax; ++i) body += ",0";
  EXPECT_EQ(Split(body + "]"),
            "INVALID_ARGUMENT: the body has more than 10000 events; send them in several requests");
}

}  // namespace
}  // namespace everstep
