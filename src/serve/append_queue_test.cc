#include "serve/append_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <semaphore>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "engine/embedded_log.h"
#include "testing/forwarding_store.h"

namespace everstep {
namespace {

std::string Started(const std::string& run) {
  return R"({"eventType":"RunStarted","runId":")" + run + R"("})";
}

struct TestRequest final : AppendQueue::Request {
  void Done(std::unique_ptr<Request> self, std::span<Result<Appended>> answers) override {
    EXPECT_EQ(self.get(), this);
    std::string text;
    for (const Result<Appended>& appended : answers) {
      text += appended ? appended->run_id + "@" + std::to_string(appended->run_seq)
                       : std::string(Name(appended.error().code));
      text += " ";
    }
    answer.set_value(text);
  }

  std::vector<std::string> texts;
  std::promise<std::string> answer;
};

// The answer to a request: "run@seq" for each event, or the error.
std::future<std::string> Send(AppendQueue& queue, const std::string& tenant,
                              std::vector<std::string> events,
                              const std::string& plan = AppendDefaults().plan_id) {
  auto request = std::make_unique<TestRequest>();
  request->texts = std::move(events);
  request->defaults.tenant_id = tenant;
  request->defaults.tenant_only = true;
  request->defaults.plan_id = plan;
  for (const std::string& text : request->texts) request->events.push_back(text);
  auto answer = request->answer.get_future();
  queue.Add(std::move(request));
  return answer;
}

class AppendQueueThreaded : public testing::Test {
 protected:
  std::unique_ptr<Log> log_ = *Log::Open({});
};

TEST_F(AppendQueueThreaded, EveryRequestGetsTheAnswersOfItsOwnEvents) {
  AppendQueue queue(*log_);
  auto first = Send(queue, "t1", {Started("a"), "nonsense", Started("b")});
  auto second = Send(queue, "t2", {Started("c")});
  auto third = Send(queue, "t1", {R"({"eventType":"RunPaused","runId":"a"})"});
  queue.Flush();
  EXPECT_EQ(first.get(), "a@1 INVALID_JSON b@1 ");
  EXPECT_EQ(second.get(), "c@1 ");
  EXPECT_EQ(third.get(), "a@2 ");
}

TEST_F(AppendQueueThreaded, RequestsAddedDuringAWriteAreAppended) {
  AppendQueue queue(*log_);
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 2'000; ++i) {
    answers.push_back(Send(queue, "t", {Started("r" + std::to_string(i))}));
    queue.Flush();
  }
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_EQ(answers[static_cast<std::size_t>(i)].get(), "r" + std::to_string(i) + "@1 ");
  }
}

TEST_F(AppendQueueThreaded, RequestsKeepTheirOwnDefaults) {
  AppendQueue queue(*log_);
  auto first = Send(queue, "t", {Started("a")});
  auto second = Send(queue, "t", {Started("b")}, "q");
  queue.Flush();
  first.get();
  second.get();
  RunFilter filter;
  filter.tenant_id = "t";
  filter.plan_id = "q";
  EXPECT_EQ(log_->Runs(filter)->runs.size(), 1u);
}

// Records the number of changes of each write, and blocks each write until it is released.
class GatedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status Commit(std::span<const RunChange* const> changes,
                std::span<const TenantDocument* const> documents) override {
    writes.push_back(changes.size());
    begun.release();
    may_go.acquire();
    return ForwardingStore::Commit(changes, documents);
  }

  std::vector<std::size_t> writes;  // read only while no write is in flight
  std::counting_semaphore<> begun{0};
  std::counting_semaphore<> may_go{0};
};

TEST_F(AppendQueueThreaded, ABatchTakesHalfOfTheActiveRequests) {
  auto owned = std::make_unique<GatedStore>(std::shared_ptr<StateStore>(OpenMemoryStore()));
  GatedStore& store = *owned;
  EmbeddedLog log(std::move(owned), SystemClock(), SystemRandom(), {});
  std::vector<std::future<std::string>> answers;
  AppendQueue queue(log);
  const auto send = [&](int count) {
    for (int i = 0; i < count; ++i) {
      answers.push_back(Send(queue, "t", {Started("r" + std::to_string(answers.size()))}));
    }
    queue.Flush();
  };
  send(10);
  store.begun.acquire();
  send(60);
  store.may_go.release(8);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_EQ(answers[i].get(), "r" + std::to_string(i) + "@1 ");
  }
  EXPECT_EQ(store.writes, (std::vector<std::size_t>{10, 35, 25}));
}

TEST_F(AppendQueueThreaded, ATenantDoesNotWaitForAnotherTenantsBacklog) {
  auto owned = std::make_unique<GatedStore>(std::shared_ptr<StateStore>(OpenMemoryStore()));
  GatedStore& store = *owned;
  EmbeddedLog log(std::move(owned), SystemClock(), SystemRandom(), {});
  AppendQueue queue(log);
  auto first = Send(queue, "much", {Started("first")});
  queue.Flush();
  store.begun.acquire();
  std::vector<std::future<std::string>> much;
  for (int request = 0; request < 5; ++request) {
    std::vector<std::string> events;
    for (int i = 0; i < 4'500; ++i) {
      events.push_back(Started("m" + std::to_string(request) + "-" + std::to_string(i)));
    }
    much.push_back(Send(queue, "much", std::move(events)));
  }
  auto little = Send(queue, "little", {Started("one")});
  queue.Flush();
  store.may_go.release(2);
  EXPECT_EQ(little.get(), "one@1 ");
  for (const auto& answer : much) {
    EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  }
  store.may_go.release(64);
  for (auto& answer : much) answer.get();
}

std::vector<std::string> ManyStarted(int count, std::size_t bytes = 0) {
  std::vector<std::string> events;
  for (int i = 0; i < count; ++i) {
    events.push_back(R"({"eventType":"RunStarted","runId":"m)" + std::to_string(i) +
                     R"(","payload":{"text":")" + std::string(bytes, 'x') + "\"}}");
  }
  return events;
}

// While `much` is being appended, another client adds one event: it must go with the next write.
void ExpectOneEventAppendedInBetween(std::vector<std::string> much) {
  std::string expected;
  for (std::size_t i = 0; i < much.size(); ++i) expected += "m" + std::to_string(i) + "@1 ";
  auto owned = std::make_unique<GatedStore>(std::shared_ptr<StateStore>(OpenMemoryStore()));
  GatedStore& store = *owned;
  EmbeddedLog log(std::move(owned), SystemClock(), SystemRandom(), {});
  AppendQueue queue(log);
  auto large = Send(queue, "much", std::move(much));
  queue.Flush();
  store.begun.acquire();
  auto little = Send(queue, "little", {Started("one")});
  queue.Flush();
  store.may_go.release(2);
  EXPECT_EQ(little.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(large.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  store.may_go.release(64);
  EXPECT_EQ(little.get(), "one@1 ");
  EXPECT_EQ(large.get(), expected);
}

TEST_F(AppendQueueThreaded, EventsAreAppendedBetweenThePartsOfALargeRequest) {
  ExpectOneEventAppendedInBetween(ManyStarted(9'000));
}

TEST_F(AppendQueueThreaded, PartsAreSmallerIfEventsAreLarge) {
  ExpectOneEventAppendedInBetween(ManyStarted(100, 100'000));
}

TEST_F(AppendQueueThreaded, TheDestructorAppendsWhatWasAdded) {
  std::future<std::string> answer;
  {
    AppendQueue queue(*log_);
    answer = Send(queue, "t", {Started("last")});
  }
  EXPECT_EQ(answer.get(), "last@1 ");
}

}  // namespace
}  // namespace everstep
