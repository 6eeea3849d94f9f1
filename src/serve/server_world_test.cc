// What one request of a Workflow DevKit application can make the server do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/cbor.h"
#include "testing/server_workbench.h"

namespace everstep {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using Call = std::function<void(CborWriter&)>;

constexpr const char* kRun = "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV";

std::string Request(const std::vector<Call>& calls) {
  std::string body;
  CborWriter cbor(body);
  cbor.BeginMap();
  cbor.Member("spec", std::uint64_t{7});
  cbor.Key("calls");
  cbor.BeginArray();
  for (const Call& call : calls) {
    cbor.BeginMap();
    call(cbor);
    cbor.End();
  }
  cbor.End();
  cbor.End();
  return body;
}

void Bytes(CborWriter& cbor, const char* name, const std::string& bytes) {
  cbor.Key(name);
  cbor.Bytes(bytes);
}

Call Event(const std::string& run_id, const char* type, const Call& data,
           const std::string& correlation_id = {}) {
  return [=](CborWriter& cbor) {
    cbor.Member("m", "events.create");
    cbor.Member("runId", run_id);
    cbor.Member("type", type);
    if (!correlation_id.empty()) cbor.Member("correlationId", correlation_id);
    cbor.Key("data");
    cbor.BeginMap();
    if (data) data(cbor);
    cbor.End();
  };
}

Call Created(const std::string& input) {
  return [=](CborWriter& cbor) {
    cbor.Member("deploymentId", "1");
    cbor.Member("workflowName", "order");
    Bytes(cbor, "input", input);
  };
}

Call StreamCall(const char* method, const std::string& name, const Call& more = {}) {
  return [=](CborWriter& cbor) {
    cbor.Member("m", method);
    cbor.Member("runId", kRun);
    cbor.Member("name", name);
    if (more) more(cbor);
  };
}

class ServerWorldTest : public testing::Test {
 protected:
  std::string Post(const std::vector<Call>& calls) {
    const ServerReply reply =
        bench_.Post(token_, "/v1/devkit", Request(calls), {{"Content-Type", "application/cbor"}});
    EXPECT_EQ(reply.status, 200) << reply.body.substr(0, 300);
    return reply.body;
  }
  // The status of each call: 200, or that of its error.
  static std::vector<std::uint64_t> StatusesIn(const std::string& answer) {
    std::vector<std::uint64_t> statuses;
    const auto parsed = ParseCbor(answer);
    EXPECT_TRUE(parsed);
    for (const CborItem& one : parsed->items) {
      const bool failed = one.items[0].integer == 1;
      statuses.push_back(failed ? one.items[1].Uint("status") : 200);
    }
    return statuses;
  }
  // Creates a run and returns its id.
  std::string NewRun(const std::string& input) {
    const std::string answer = Post({Event("", "run_created", Created(input))});
    const auto parsed = ParseCbor(answer);
    EXPECT_TRUE(parsed);
    const CborItem* run = parsed->items[0].items[1].Find("run");
    EXPECT_NE(run, nullptr) << answer;
    return run == nullptr ? std::string() : std::string(run->Text("runId"));
  }

  ServerWorkbench bench_;
  const std::string token_ = bench_.Token("acme", "system");
};

TEST_F(ServerWorldTest, TheAnswersToARequestAreBounded) {
  const std::string run_id = NewRun(std::string(4 << 20, 'x'));
  EXPECT_THAT(StatusesIn(Post({Event(run_id, "run_started", {})})), ElementsAre(200));
  // Each of these answers repeats the input twice, in the run and in its log.
  const std::string answer = Post(std::vector<Call>(30, Event(run_id, "run_started", {})));
  EXPECT_LT(answer.size(), 64U << 20);
  const std::vector<std::uint64_t> statuses = StatusesIn(answer);
  EXPECT_EQ(statuses.front(), 200U);
  EXPECT_EQ(statuses.back(), 429U);
}

TEST_F(ServerWorldTest, ARequestRegistersAFewEndpoints) {
  const auto registration = [](int number, const std::string& path) -> Call {
    return [=](CborWriter& cbor) {
      cbor.Member("m", "queue.register");
      cbor.Member("id", "app" + std::to_string(number));
      cbor.Member("secret", "sixteen characters");
      cbor.Key("routes");
      cbor.BeginArray();
      for (int i = 0; i < 8; ++i) {
        cbor.BeginMap();
        cbor.Member("prefix", "t" + std::to_string(number));
        cbor.Member("url", "https://app.example/" + path);
        cbor.End();
      }
      cbor.End();
    };
  };
  std::vector<Call> calls;
  for (int i = 0; i < 18; ++i) calls.push_back(registration(i, "flow"));
  const std::vector<std::uint64_t> statuses = StatusesIn(Post(calls));
  ASSERT_THAT(statuses, SizeIs(18));
  EXPECT_EQ(statuses[15], 200U);
  EXPECT_EQ(statuses[16], 429U);
  const std::string large(1'500, 'x');
  EXPECT_THAT(StatusesIn(Post({registration(1, large)})), ElementsAre(400)) << "12 KB of routes";
}

TEST_F(ServerWorldTest, TheStreamsOfARequestAreWrittenTogether) {
  const auto chunks = [](std::size_t count) -> Call {
    return [=](CborWriter& cbor) {
      cbor.Key("chunks");
      cbor.BeginArray();
      for (std::size_t i = 0; i < count; ++i) cbor.Bytes("c");
      cbor.End();
    };
  };
  std::vector<Call> calls;
  for (int i = 0; i < 200; ++i) {
    calls.push_back(StreamCall("streams.write", "s" + std::to_string(i % 50), chunks(2)));
  }
  calls.push_back(StreamCall("streams.close", "s0"));
  EXPECT_THAT(StatusesIn(Post(calls)), Each(200U));
  EXPECT_THAT(StatusesIn(Post({StreamCall("streams.write", "many", chunks(10'001)),
                               StreamCall("streams.write", "few", chunks(10'000))})),
              ElementsAre(400, 200));
  const auto read = [&](const std::string& name) {
    const std::string answer = Post({StreamCall("streams.read", name)});
    const auto parsed = ParseCbor(answer);
    const CborItem& page = parsed->items[0].items[1];
    return std::to_string(page.Uint("count")) + (page.Flag("done") ? ", closed" : "");
  };
  EXPECT_EQ(read("s0"), "8, closed");
  EXPECT_EQ(read("s49"), "8");
  EXPECT_EQ(read("many"), "0");
}

TEST_F(ServerWorldTest, ThePositionOfAReaderIsClamped) {
  const auto from = [](double index) -> Call {
    return [=](CborWriter& cbor) {
      cbor.Key("startIndex");
      cbor.Double(index);
      cbor.Member("waitMs", std::uint64_t{0});
    };
  };
  Post({StreamCall("streams.write", "s", [](CborWriter& cbor) {
    cbor.Key("chunks");
    cbor.BeginArray();
    cbor.Bytes("c");
    cbor.End();
  })});
  for (const double index : {1e300, -1e300, 18446744073709551616.0}) {
    EXPECT_THAT(StatusesIn(Post({StreamCall("streams.read", "s", from(index))})), ElementsAre(200));
  }
}

TEST_F(ServerWorldTest, AServerThatStopsReleasesThoseWhoWaitForAStream) {
  SocketClient reader = bench_.Connect();
  reader.Send(RequestText(
      {"POST",
       "/v1/devkit",
       Request({StreamCall("streams.read", "s",
                           [](CborWriter& cbor) { cbor.Member("waitMs", UINT64_MAX); })}),
       {{"Content-Type", "application/cbor"}},
       token_}));
  // The connection's requests are handled in order, so this one shows that the other one waits.
  EXPECT_THAT(StatusesIn(Post({StreamCall("streams.read", "other")})), ElementsAre(200));
  bench_.Stop();
}

TEST_F(ServerWorldTest, AStepShowsTheErrorOfItsLastAttemptOnly) {
  const std::string run_id = NewRun("x");
  const auto named = [](CborWriter& cbor) {
    cbor.Member("stepName", "charge");
    Bytes(cbor, "input", "x");
  };
  const auto failed = [](CborWriter& cbor) { Bytes(cbor, "error", "boom"); };
  const auto event = [&](const char* type, const Call& data) {
    EXPECT_THAT(StatusesIn(Post({Event(run_id, type, data, "step_1")})), ElementsAre(200)) << type;
  };
  const auto shows_error = [&] {
    const std::string answer = Post({[&](CborWriter& cbor) {
      cbor.Member("m", "steps.get");
      cbor.Member("runId", run_id);
      cbor.Member("stepId", "step_1");
    }});
    return answer.find("boom") != std::string::npos;
  };
  event("step_started", named);
  event("step_retrying", failed);
  EXPECT_TRUE(shows_error());
  event("step_started", {});
  EXPECT_TRUE(shows_error());
  // Processes that died: finding the error would mean to read all of these each time.
  for (int i = 0; i < 40; ++i) event("step_started", {});
  EXPECT_FALSE(shows_error());
}

}  // namespace
}  // namespace everstep
