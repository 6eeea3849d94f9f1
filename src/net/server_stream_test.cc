#include "net/server_stream.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

TEST(ServerStreamTest, AnEmptyCallbackEndsTheNotifications) {
  ServerStream stream(1'000);
  bool wake = false;
  int calls = 0;
  stream.OnChange([&calls] { ++calls; }, wake);
  ASSERT_TRUE(stream.Write("piece", wake));
  EXPECT_EQ(stream.Take().bytes, "piece");
  stream.SetUnsent(0);
  EXPECT_EQ(calls, 1);

  stream.OnChange({}, wake);
  ASSERT_TRUE(stream.Write("piece", wake));
  EXPECT_EQ(stream.Take().bytes, "piece");
  stream.SetUnsent(0);
  stream.Close();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace everstep
