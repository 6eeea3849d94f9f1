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

TEST(BatchReaderTest, ASingleDocumentIsUnchanged) {
  EXPECT_EQ(Split(R"( {"a":1} )"), R"(single| {"a":1} )");
  EXPECT_EQ(Split("nonsense"), "single|nonsense");
}

TEST(BatchReaderTest, AListIsSplit) {
  EXPECT_EQ(Split(R"([{"a":"x,]}\""}, {"b":[1,{"c":2}]} ])"),
            R"(list|{"a":"x,]}\""}|{"b":[1,{"c":2}]})");
  EXPECT_EQ(Split("[1, true ,null]"), "list|1|true |null");
}

TEST(BatchReaderTest, LinesAreDocuments) {
  EXPECT_EQ(Split("{\"a\":1}\n\n{\"b\":2}", "application/x-ndjson"), "list|{\"a\":1}|{\"b\":2}");
}

TEST(BatchReaderTest, MalformedListsAreRefused) {
  EXPECT_EQ(Split("[{}"), "INVALID_JSON: the list is not closed, at byte 3");
  EXPECT_EQ(Split("[{},]"),
            "INVALID_JSON: the list contains an item that is not a JSON value, at byte 4");
  EXPECT_EQ(Split("[{} {}]"), "INVALID_JSON: expected ',' or ']', at byte 4");
  EXPECT_EQ(Split("[{}] x"), "INVALID_JSON: unexpected data after the list, at byte 4");
  EXPECT_EQ(Split("[\"a"),
            "INVALID_JSON: the list contains an item that is not a JSON value, at byte 1");
  EXPECT_EQ(Split("[]"), "INVALID_ARGUMENT: the body contains no events");
  EXPECT_EQ(Split(" "), "INVALID_ARGUMENT: the body contains no events");
}

TEST(BatchReaderTest, TooManyAreRefused) {
  std::string body = "[0";
  for (std::size_t i = 0; i < kBatchDocumentsMax; ++i) body += ",0";
  EXPECT_EQ(Split(body + "]"),
            "INVALID_ARGUMENT: the body has more than 10000 events; send them in several requests");
}

}  // namespace
}  // namespace everstep
