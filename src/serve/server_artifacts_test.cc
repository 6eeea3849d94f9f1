// Uploads of artifacts are streamed to the disk and stored completely or not at all.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/sha256.h"
#include "base/unique_fd.h"
#include "net/content_coding.h"
#include "testing/server_workbench.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;
using Answer = SocketClient::Answer;

constexpr std::size_t kBytesMax = 8 << 20;

std::string SomeText(std::size_t size) {
  std::string text;
  while (text.size() < size) text += std::to_string(text.size() * 7'919) + "\n";
  text.resize(size);
  return text;
}

class ServerArtifactsTest : public testing::Test {
 protected:
  static ServerOptions Options() {
    ServerOptions options;
    options.api.artifact_bytes_max = kBytesMax;
    return options;
  }

  std::string Artifacts() const {
    for (const auto& entry : fs::recursive_directory_iterator(bench_.directory())) {
      if (entry.is_directory() && entry.path().filename() == "artifacts") return entry.path();
    }
    return {};
  }
  // Files of uploads in progress.
  std::size_t Unfinished() const {
    std::size_t count = 0;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(Artifacts() + "/new", missing)) {
      count += entry.exists() ? 1 : 0;
    }
    return count;
  }
  bool IsStored(const std::string& sha256) const {
    return fs::exists(Artifacts() + "/" + sha256.substr(0, 2) + "/" + sha256);
  }
  // Makes the next uploads write to what `target` refers to.
  void WriteNextUploadsTo(const std::string& target) {
    bench_.Post(token_, "/v1/artifacts", "makes the folder");
    ASSERT_TRUE(Eventually([&] { return Unfinished() == 0; }));
    const std::string process = std::to_string(::getpid());
    for (int i = 1; i < 1'000; ++i) {
      std::error_code taken;
      fs::create_symlink(target, Artifacts() + "/new/" + process + "-" + std::to_string(i), taken);
    }
  }
  std::string Head(const std::string& token, const std::string& headers) const {
    return "POST /v1/artifacts HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token +
           "\r\n" + headers + "\r\n";
  }
  // Polls for up to ten seconds for an effect of another thread that sends no notification.
  template <typename Condition>
  static bool Eventually(const Condition& condition) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    for (int i = 0; i < 10'000; ++i) {
      if (condition()) return true;
      never.wait_for(lock, std::chrono::milliseconds(1));
    }
    return condition();
  }
  std::uint64_t Metric(const std::string& name) {
    const std::string text = bench_.Get(bench_.admin(), "/metrics").body;
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + 2));
  }

  ServerWorkbench bench_{Options()};
  const std::string token_ = bench_.Token("shop", "tenant-admin");
};

TEST_F(ServerArtifactsTest, ALargeUploadIsWrittenWhileItArrives) {
  const std::string bytes = SomeText(4 << 20);
  SocketClient client = bench_.Connect();
  client.Send(Head(token_, "Content-Length: " + std::to_string(bytes.size()) + "\r\n"));
  client.Send(std::string_view(bytes).substr(0, 3 << 20));
  const auto on_disk = [&] {
    std::uintmax_t size = 0;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(Artifacts() + "/new", missing)) {
      size += entry.file_size();
    }
    return size;
  };
  EXPECT_TRUE(Eventually([&] { return on_disk() == 3U << 20; }));
  EXPECT_LT(Metric("everstep_http_buffered_bytes"), 1U << 20);
  client.Send(bytes.substr(3 << 20) + GetText("/livez"));
  EXPECT_EQ(client.ReadAnswer().status, 201);
  EXPECT_EQ(client.ReadAnswer().status, 200) << "the connection goes on";
  EXPECT_EQ(Unfinished(), 0u);
  EXPECT_TRUE(bench_.Get(token_, "/v1/artifacts/" + ToHex(Sha256(bytes))).body == bytes);
}

TEST_F(ServerArtifactsTest, EmptyChunkedAndCompressedUploadsKeepTheirContent) {
  const std::string bytes = SomeText(1'000'000);
  const std::string sha256 = ToHex(Sha256(bytes));
  EXPECT_EQ(bench_.Post(token_, "/v1/artifacts", "").Text("sha256"), ToHex(Sha256("")));
  const ServerReply packed =
      bench_.Post(token_, "/v1/artifacts", Gzip(bytes), {{"Content-Encoding", "gzip"}});
  EXPECT_EQ(packed.status, 201);
  EXPECT_EQ(packed.Text("sha256"), sha256);
  EXPECT_EQ(packed.Text("sizeBytes"), "1000000");
  const ServerReply whole = bench_.Get(token_, "/v1/artifacts/" + sha256);
  EXPECT_TRUE(whole.body == bytes);
  const ServerReply known =
      bench_.Get(token_, "/v1/artifacts/" + sha256, {{"If-None-Match", whole.Header("etag")}});
  EXPECT_EQ(known.status, 304);
  EXPECT_EQ(known.body, "");
  SocketClient client = bench_.Connect();
  client.Send(Head(token_, "Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
  EXPECT_NE(client.ReadAnswer().body.find(ToHex(Sha256("abcdef"))), std::string::npos);
}

TEST_F(ServerArtifactsTest, UnauthorizedUploadsAreRefusedBeforeTheBody) {
  const std::string length = "Content-Length: 1000000\r\n";
  const struct {
    std::string token;
    int status;
    std::string code;
  } cases[] = {{"est_wrong", 401, "UNAUTHENTICATED"},
               {bench_.Token("shop", "viewer"), 403, "AUTHZ_DENIED"}};
  for (const auto& refused : cases) {
    for (const std::string expect : {"", "Expect: 100-continue\r\n"}) {
      SocketClient client = bench_.Connect();
      client.Send(Head(refused.token, length + expect));
      if (expect.empty()) client.Send(std::string(500'000, 'a'));
      const Answer answer = client.ReadAnswer();
      EXPECT_EQ(answer.status, refused.status);
      EXPECT_EQ(answer.headers.at("content-type"), "application/problem+json");
      EXPECT_NE(answer.body.find(refused.code), std::string::npos) << answer.body;
      EXPECT_TRUE(client.AtEnd());
    }
  }
  // The same for requests of unknown paths.
  SocketClient client = bench_.Connect();
  client.Send("POST /v1/artifacts?nme=x HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " +
              token_ + "\r\n" + length + "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer().status, 400);
  EXPECT_EQ(Artifacts(), "") << "something was written";
}

TEST_F(ServerArtifactsTest, AnAbortedUploadLeavesNothing) {
  for (const bool reset : {true, false}) {
    SocketClient client = bench_.Connect();
    client.Send(Head(token_, "Content-Length: 1000000\r\n") + std::string(500'000, 'a'));
    ASSERT_TRUE(Eventually([&] { return Unfinished() == 1; }));
    reset ? client.Reset() : client.EndSending();
    EXPECT_TRUE(Eventually([&] { return Unfinished() == 0; })) << reset;
  }
  EXPECT_FALSE(IsStored(ToHex(Sha256(std::string(500'000, 'a')))));
}

TEST_F(ServerArtifactsTest, AStalledUploadTimesOutAndLeavesNothing) {
  ServerOptions options = Options();
  options.http.body_timeout = std::chrono::milliseconds(100);
  bench_.Restart(options);
  SocketClient client = bench_.Connect();
  client.Send(Head(token_, "Content-Length: 1000000\r\n") + std::string(500'000, 'a'));
  const Answer answer = client.ReadAnswer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_NE(answer.body.find("REQUEST_TIMEOUT"), std::string::npos) << answer.body;
  EXPECT_TRUE(Eventually([&] { return Unfinished() == 0; }));
}

TEST_F(ServerArtifactsTest, AnOversizedUploadLeavesNothing) {
  {
    SocketClient client = bench_.Connect();
    client.Send(Head(token_, "Content-Length: " + std::to_string(kBytesMax + 1) +
                                 "\r\nExpect: 100-continue\r\n"));
    EXPECT_EQ(client.ReadAnswer().status, 413);
  }
  const std::string most = SomeText(kBytesMax);
  EXPECT_EQ(bench_.Post(token_, "/v1/artifacts", most).status, 201);
  SocketClient client = bench_.Connect();
  client.Send(Head(token_, "Transfer-Encoding: chunked\r\n") + "800000\r\n" + most + "\r\n1\r\n");
  const Answer answer = client.ReadAnswer();
  EXPECT_EQ(answer.status, 413);
  EXPECT_NE(answer.body.find("CONTENT_TOO_LARGE"), std::string::npos) << answer.body;
  const std::string bomb(kBytesMax + 1, 'a');
  EXPECT_EQ(bench_.Post(token_, "/v1/artifacts", Gzip(bomb), {{"Content-Encoding", "gzip"}}).status,
            413);
  EXPECT_TRUE(Eventually([&] { return Unfinished() == 0; }));
  EXPECT_FALSE(IsStored(ToHex(Sha256(bomb.substr(1)))));
}

TEST_F(ServerArtifactsTest, AFullDiskIsReportedAtOnceAndLeavesNothing) {
  WriteNextUploadsTo("/dev/full");
  SocketClient client = bench_.Connect();
  // The server does not wait for the rest.
  client.Send(Head(token_, "Content-Length: 1000000\r\n") + std::string(500'000, 'a'));
  const Answer answer = client.ReadAnswer();
  EXPECT_EQ(answer.status, 507);
  EXPECT_EQ(answer.headers.at("content-type"), "application/problem+json");
  EXPECT_NE(answer.body.find("STORE_FULL"), std::string::npos) << answer.body;
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(bench_.Get(token_, "/livez").status, 200);
}

TEST(ServerArtifactsReserveTest, UploadsKeepTheReserveForTheLog) {
  ServerOptions options;
  options.api.free_bytes_min = UINT64_MAX;  // the log's own limit keeps its default
  ServerWorkbench bench(std::move(options));
  const std::string token = bench.Token("shop", "tenant-admin");
  const auto answer = bench.Post(token, "/v1/artifacts", "text");
  EXPECT_EQ(answer.status, 507);
  EXPECT_NE(answer.body.find("STORE_FULL"), std::string::npos) << answer.body;
  EXPECT_EQ(bench.Post(token, "/v1/events", R"({"eventType":"RunQueued","runId":"r1"})").status,
            201);
}

TEST_F(ServerArtifactsTest, ASlowDiskDelaysOnlyTheUploadingClient) {
  const std::string pipe = bench_.directory() + "/slow-disk";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  WriteNextUploadsTo(pipe);
  UniqueFd slow(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(slow);
  const std::uint64_t before = Metric("everstep_http_received_bytes_total");
  SocketClient client = bench_.Connect();
  std::atomic<bool> sent = false;
  std::jthread sender([&] {
    client.Send(Head(token_, "Content-Length: 8000000\r\n"));
    sent = client.Send(std::string(8'000'000, 'a'));
  });
  ASSERT_TRUE(Eventually([&] { return Metric("everstep_http_buffered_bytes") >= 256U << 10; }));
  for (int i = 0; i < 20; ++i) ASSERT_EQ(bench_.Get(token_, "/v1/runs").status, 200);
  EXPECT_LT(Metric("everstep_http_buffered_bytes"), 1U << 20);
  EXPECT_LT(Metric("everstep_http_received_bytes_total") - before, 2U << 20);
  EXPECT_FALSE(sent);
  // The disk catches up, and the upload continues where it stopped.
  std::size_t written = 0;
  std::array<char, 64 << 10> piece;
  ASSERT_TRUE(Eventually([&] {
    for (ssize_t size = 1; size > 0;) {
      size = ::read(slow.get(), piece.data(), piece.size());
      written += size > 0 ? static_cast<std::size_t>(size) : 0;
    }
    return written == 8'000'000;
  })) << written;
  sender.join();
  EXPECT_TRUE(sent);
  EXPECT_EQ(client.ReadAnswer().status, 500) << "a pipe cannot be synced";
}

TEST_F(ServerArtifactsTest, AnIdempotencyKeyCoversTheUploadedBytes) {
  const HttpHeaders key = {{"Idempotency-Key", "upload-7"}};
  const std::string bytes = SomeText(1'000'000);
  const ServerReply first = bench_.Post(token_, "/v1/artifacts?name=a", bytes, key);
  EXPECT_EQ(first.status, 201);
  for (const bool restarted : {false, true}) {
    if (restarted) bench_.Restart();
    const ServerReply again = bench_.Post(token_, "/v1/artifacts?name=a", bytes, key);
    EXPECT_EQ(again.Header("idempotency-replayed"), "true") << again.body;
    EXPECT_EQ(again.body, first.body);
    // The same content with another encoding is the same request.
    HttpHeaders packed = key;
    packed.emplace_back("Content-Encoding", "gzip");
    EXPECT_EQ(bench_.Post(token_, "/v1/artifacts?name=a", Gzip(bytes), packed).body, first.body);
    const std::string other = bytes + "b";
    const ServerReply reused = bench_.Post(token_, "/v1/artifacts?name=a", other, key);
    EXPECT_EQ(reused.status, 422);
    EXPECT_EQ(reused.Code(), "IDEMPOTENCY_KEY_REUSED");
    EXPECT_EQ(bench_.Post(token_, "/v1/artifacts?name=b", bytes, key).status, 422);
    EXPECT_FALSE(IsStored(ToHex(Sha256(other))));
    EXPECT_TRUE(Eventually([&] { return Unfinished() == 0; }));
  }
}

// Damaged bytes are not served, however long the artifact is: it is verified before the answer
// begins.
TEST_F(ServerArtifactsTest, ADamagedOrMissingArtifactIsReportedAndRepairedByAnUpload) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{70'000}, std::size_t{6'000'000}}) {
    const std::string bytes = SomeText(size);
    const std::string sha256 = ToHex(Sha256(bytes));
    std::string flipped = bytes;
    flipped.back() = static_cast<char>(flipped.back() ^ 1);
    const std::vector<std::optional<std::string>> damages = {
        flipped, bytes.substr(0, size / 2), std::string(), bytes + "more", std::nullopt};
    for (const auto& damaged : damages) {
      ASSERT_EQ(bench_.Post(token_, "/v1/artifacts", bytes).status, 201);
      const std::string path = Artifacts() + "/" + sha256.substr(0, 2) + "/" + sha256;
      ASSERT_TRUE(bench_.Get(token_, "/v1/artifacts/" + sha256).body == bytes);
      fs::remove(path);
      if (damaged) std::ofstream(path, std::ios::binary) << *damaged;
      const ServerReply refused = bench_.Get(token_, "/v1/artifacts/" + sha256);
      EXPECT_EQ(refused.status, 500) << size;
      EXPECT_EQ(refused.Code(), "ARTIFACT_DAMAGED") << size;
      EXPECT_EQ(refused.body.find(bench_.directory()), std::string::npos) << refused.body;
      const std::string alerts = bench_.Get(token_, "/v1/alerts").body;
      EXPECT_NE(alerts.find("ARTIFACT_DAMAGED"), std::string::npos) << alerts;
      EXPECT_EQ(alerts.find(bench_.directory()), std::string::npos) << alerts;
    }
  }
  const std::string unknown = ToHex(Sha256("never uploaded"));
  EXPECT_EQ(bench_.Get(token_, "/v1/artifacts/" + unknown).Code(), "ARTIFACT_NOT_FOUND");
}

TEST_F(ServerArtifactsTest, AStoppingServerLeavesNoPartialUploads) {
  SocketClient client = bench_.Connect();
  client.Send(Head(token_, "Content-Length: 1000000\r\n") + std::string(500'000, 'a'));
  ASSERT_TRUE(Eventually([&] { return Unfinished() == 1; }));
  bench_.Stop();
  EXPECT_EQ(Unfinished(), 0u);
  // A killed server leaves its file behind; the next one removes it.
  const std::string left = Artifacts() + "/new/1-1";
  UniqueFd file(::open(left.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  bench_.Restart();
  EXPECT_EQ(Unfinished(), 0u);
}

}  // namespace
}  // namespace everstep
