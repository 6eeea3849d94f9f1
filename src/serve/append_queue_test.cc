#include "serve/append_queue.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

namespace everstep {
namespace {

std::string Started(const std::string& run) {
  return R"({"eventType":"RunStarted","runId":")" + run + R"("})";
}

// What a request is answered: "run@seq" of each event, or the error.
std::future<std::string> Send(AppendQueue& queue, const std::string& tenant,
                              std::vector<std::string> events) {
  struct Request {
    std::vector<std::string> texts;
    std::promise<std::string> answer;
  };
  auto request = std::make_shared<Request>();
  request->texts = std::move(events);
  AppendQueue::Entry entry;
  entry.defaults.tenant_id = tenant;
  entry.defaults.tenant_only = true;
  for (const std::string& text : request->texts) entry.events.push_back(text);
  entry.done = [request](std::span<Result<Appended>> answers) {
    std::string text;
    for (const Result<Appended>& answer : answers) {
      text += answer ? answer->run_id + "@" + std::to_string(answer->run_seq)
                     : std::string(Name(answer.error().code));
      text += " ";
    }
    request->answer.set_value(text);
  };
  auto answer = request->answer.get_future();
  queue.Add(std::move(entry));
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

TEST_F(AppendQueueThreaded, WhatComesWhileAnotherBatchIsWrittenFollowsByItself) {
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

TEST_F(AppendQueueThreaded, DefaultsOfOneRequestAreNotThoseOfAnother) {
  AppendQueue queue(*log_);
  AppendQueue::Entry other;
  const std::string text = Started("b");
  other.defaults.tenant_id = "t";
  other.defaults.plan_id = "q";
  other.events = {text};
  std::promise<void> done;
  other.done = [&done](std::span<Result<Appended>>) { done.set_value(); };
  auto first = Send(queue, "t", {Started("a")});
  queue.Add(std::move(other));
  queue.Flush();
  first.get();
  done.get_future().get();
  RunFilter filter;
  filter.tenant_id = "t";
  filter.plan_id = "q";
  EXPECT_EQ(log_->Runs(filter)->runs.size(), 1u);
}

TEST_F(AppendQueueThreaded, WhatWasAddedIsAppendedWhenItEnds) {
  std::future<std::string> answer;
  {
    AppendQueue queue(*log_);
    answer = Send(queue, "t", {Started("last")});
  }
  EXPECT_EQ(answer.get(), "last@1 ");
}

}  // namespace
}  // namespace everstep
