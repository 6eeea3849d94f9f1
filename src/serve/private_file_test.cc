#include "serve/private_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "testing/temporary_directory.h"

namespace everstep {
namespace {

TEST(PrivateFileTest, ReadsTheLastWrittenContent) {
  const TemporaryDirectory directory;
  const std::string path = directory / "f";
  ASSERT_TRUE(WritePrivateFile(path, "one"));
  ASSERT_TRUE(WritePrivateFile(path, "two"));
  const auto read = ReadPrivateFile(path, 10);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, "two");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(PrivateFileTest, OnlyTheOwnerMayReadIt) {
  const TemporaryDirectory directory;
  const std::string path = directory / "f";
  std::ofstream(path + ".new") << "left behind by a crash, open to all";
  ASSERT_EQ(::chmod((path + ".new").c_str(), 0666), 0);
  ASSERT_TRUE(WritePrivateFile(path, "one"));
  struct stat found {};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

TEST(PrivateFileTest, MissingIsNotAnErrorAndTooLargeIs) {
  const TemporaryDirectory directory;
  const auto missing = ReadPrivateFile(directory / "none", 10);
  ASSERT_TRUE(missing);
  EXPECT_EQ(*missing, std::nullopt);
  ASSERT_TRUE(WritePrivateFile(directory / "f", "12345"));
  EXPECT_TRUE(ReadPrivateFile(directory / "f", 5));
  EXPECT_FALSE(ReadPrivateFile(directory / "f", 4));
}

TEST(PrivateFileTest, AMissingDirectoryIsAnError) {
  const TemporaryDirectory directory;
  const Status written = WritePrivateFile(directory / "no/f", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kStoreIo);
}

}  // namespace
}  // namespace everstep
