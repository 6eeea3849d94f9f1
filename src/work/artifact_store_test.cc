#include "work/artifact_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "testing/temporary_directory.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

class ArtifactStoreTest : public testing::Test {
 protected:
  std::string PathOf(const ArtifactRef& ref) const {
    return store_.directory() + "/" + ref.sha256.substr(0, 2) + "/" + ref.sha256;
  }

  TemporaryDirectory directory_;
  ArtifactStore store_{directory_ / "artifacts"};
};

TEST_F(ArtifactStoreTest, WrittenBytesAreFoundByTheirDigest) {
  const auto ref = store_.Write("hello", {"result", "text/plain", "a.txt"});
  ASSERT_TRUE(ref);
  EXPECT_EQ(ref->sha256, ToHex(Sha256("hello")));
  EXPECT_EQ(ref->uri, "artifact:sha256:" + ref->sha256);
  EXPECT_EQ(ref->size_bytes, 5U);
  EXPECT_EQ(*store_.Read(ref->uri), "hello");
  EXPECT_TRUE(fs::exists(PathOf(*ref)));
  EXPECT_EQ(ToJson(ref->InResult()),
            R"({"$artifact":{"uri":")" + ref->uri + R"(","kind":"result","sha256":")" +
                ref->sha256 + R"(","sizeBytes":5,"contentType":"text/plain","name":"a.txt"}})");
}

TEST_F(ArtifactStoreTest, TheSameBytesAreKeptOnce) {
  const auto first = store_.Write("same", {"result"});
  const auto written = fs::last_write_time(PathOf(*first));
  EXPECT_EQ(store_.Write("same", {"result"})->uri, first->uri);
  EXPECT_EQ(fs::last_write_time(PathOf(*first)), written);
  EXPECT_TRUE(fs::is_empty(directory_ / "artifacts/new"));
}

TEST_F(ArtifactStoreTest, DamageIsDetectedAndRepairedByTheNextWrite) {
  const auto ref = store_.Write("precious", {"result"});
  for (const char* damaged : {"precIous", "pre", "", "precious and more"}) {
    std::ofstream(PathOf(*ref)) << damaged;
    EXPECT_EQ(store_.Read(ref->uri).error().code, ErrorCode::kStoreCorrupt) << damaged;
    ASSERT_TRUE(store_.Write("precious", {"result"}));
    ASSERT_TRUE(store_.Read(ref->uri)) << damaged;
    EXPECT_EQ(*store_.Read(ref->uri), "precious");
  }
  fs::remove(PathOf(*ref));
  EXPECT_EQ(store_.Read(ref->uri).error().code, ErrorCode::kArtifactNotFound);
}

TEST_F(ArtifactStoreTest, MissingArtifactsAndOtherUrisAreNotFound) {
  for (const std::string& uri :
       {"artifact:sha256:" + std::string(64, 'a'), std::string("artifact:sha256:../../etc/passwd"),
        std::string("file:///etc/passwd"), std::string()}) {
    EXPECT_EQ(store_.Read(uri).error().code, ErrorCode::kArtifactNotFound) << uri;
  }
}

TEST_F(ArtifactStoreTest, ArtifactsAreWrittenAndReadInPieces) {
  auto writer = store_.NewWriter();
  std::string whole;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece(static_cast<std::size_t>(i), static_cast<char>('a' + i % 26));
    ASSERT_TRUE((*writer)->Append(piece));
    whole += piece;
  }
  EXPECT_EQ((*writer)->Seal(), ToHex(Sha256(whole)))
      << "the digest is known before the artifact exists";
  EXPECT_FALSE(store_.NewReader("artifact:sha256:" + (*writer)->Seal()));
  const auto ref = (*writer)->Finish({"stdout"});
  ASSERT_TRUE(ref);
  EXPECT_EQ(ref->sha256, ToHex(Sha256(whole)));
  auto reader = store_.NewReader(ref->uri);
  std::string read;
  while (true) {
    const auto piece = (*reader)->Next();
    ASSERT_TRUE(piece);
    if (piece->empty()) break;
    read += *piece;
  }
  EXPECT_EQ(read, whole);
}

TEST_F(ArtifactStoreTest, AnUnfinishedWriterLeavesNothing) {
  {
    auto writer = store_.NewWriter();
    ASSERT_TRUE((*writer)->Append("half"));
    EXPECT_FALSE(fs::is_empty(directory_ / "artifacts/new"));
  }
  EXPECT_TRUE(fs::is_empty(directory_ / "artifacts/new"));
}

TEST_F(ArtifactStoreTest, ManyThreadsCanWriteTheSameBytes) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const std::string bytes = "bytes " + std::to_string(i);
        const auto ref = store_.Write(bytes, {"result"});
        ASSERT_TRUE(ref) << ref.error().message;
        EXPECT_EQ(*store_.Read(ref->uri), bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ArtifactStoreTest, FilesHaveASizeLimitAndLinksAreRejected) {
  std::ofstream(directory_ / "file") << "12345";
  fs::create_symlink(directory_ / "file", directory_ / "link");
  EXPECT_EQ(store_.WriteFile(directory_ / "file", {"file"}, 5)->size_bytes, 5U);
  EXPECT_EQ(store_.WriteFile(directory_ / "file", {"file"}, 4).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_FALSE(store_.WriteFile(directory_ / "link", {"file"}, 5));
  EXPECT_FALSE(store_.WriteFile(directory_.path(), {"file"}, 5));
}

}  // namespace
}  // namespace everstep
