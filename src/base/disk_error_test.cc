#include "base/disk_error.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace everstep {
namespace {

TEST(DiskErrorTest, DistinguishesAFullDiskFromABrokenOne) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_LT(::write(full, "x", 1), 0);
  const Error no_space = DiskError("/dev/full", errno);
  ::close(full);
  EXPECT_EQ(no_space.code, ErrorCode::kStoreFull);
  EXPECT_NE(no_space.message.find("/dev/full: "), std::string::npos);
  EXPECT_EQ(DiskError("a", EDQUOT).code, ErrorCode::kStoreFull);
  EXPECT_EQ(DiskError("a", EIO).code, ErrorCode::kStoreIo);
}

}  // namespace
}  // namespace everstep
