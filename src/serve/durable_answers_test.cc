#include "serve/durable_answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "serve/idempotency.h"
#include "testing/manual_clock.h"

namespace everstep {
namespace {

class DurableAnswersThreaded : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open(MemoryIdempotencyStore::Limits limits = {.keys_max = 3}) {
    answers_.reset();
    answers_ = std::make_unique<DurableAnswers>(limits, *store_, committer_, clock_);
  }
  static IdempotencyKeyDigest Key(int n) { return Sha256(std::to_string(n)); }
  void Put(int n, Keeping keeping = Keeping::kDurably, const std::string& body = "{}") {
    std::promise<void> kept;
    answers_->Put(Key(n), {Key(1000 + n), {201, {{"Location", "/x"}}, body}}, keeping,
                  [&] { kept.set_value(); });
    kept.get_future().wait();
  }
  std::size_t Documents() {
    DocumentQuery query;
    query.kind = DocumentKind::kAnswer;
    return store_->Read()->ListDocuments(query)->size();
  }

  ManualClock clock_;
  std::unique_ptr<StateStore> store_ = OpenMemoryStore();
  Committer committer_{*store_, clock_, [](auto) {}};
  std::unique_ptr<DurableAnswers> answers_;
};

TEST_F(DurableAnswersThreaded, AnAnswerSurvivesARestart) {
  const std::string odd = "{\"a\":\"\\u0000\\\"\",\"b\":\"\xc3\xa9\"}";
  Put(1, Keeping::kDurably, odd);
  Open();
  const auto found = answers_->Find(Key(1));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->gone);
  EXPECT_EQ(found->fingerprint, Key(1001));
  EXPECT_EQ(found->response.status, 201);
  EXPECT_EQ(found->response.body, odd);
  EXPECT_EQ(found->response.headers, (HttpHeaders{{"Location", "/x"}}));
}

TEST_F(DurableAnswersThreaded, AnAnswerWithASecretIsOnlyMarkedAsGiven) {
  Put(1, Keeping::kWithoutAnswer, R"({"token":"secret"})");
  EXPECT_EQ(answers_->Find(Key(1))->response.body, R"({"token":"secret"})");
  DocumentQuery query;
  query.kind = DocumentKind::kAnswer;
  const auto kept = store_->Read()->ListDocuments(query);
  ASSERT_EQ(kept->size(), 1U);
  EXPECT_EQ(kept->front().text->find("secret"), std::string::npos);
  Open();
  ASSERT_TRUE(answers_->Find(Key(1)));
  EXPECT_TRUE(answers_->Find(Key(1))->gone);
  EXPECT_EQ(answers_->Find(Key(1))->fingerprint, Key(1001));
}

TEST_F(DurableAnswersThreaded, InMemoryAnswersAreNotWritten) {
  Put(1, Keeping::kInMemory);
  EXPECT_TRUE(answers_->Find(Key(1)));
  EXPECT_EQ(Documents(), 0U);
  Open();
  EXPECT_FALSE(answers_->Find(Key(1)));
}

TEST_F(DurableAnswersThreaded, EvictedAnswersAreRemovedFromTheStore) {
  for (int n = 1; n <= 10; ++n) {
    clock_.Advance(std::chrono::milliseconds(1));
    Put(n);
    EXPECT_LE(Documents(), 3U);
  }
  Open();
  EXPECT_FALSE(answers_->Find(Key(7)));
  for (int n = 8; n <= 10; ++n) EXPECT_TRUE(answers_->Find(Key(n))) << n;
  Open({.keys_max = 1});
  EXPECT_FALSE(answers_->Find(Key(9)));
  EXPECT_TRUE(answers_->Find(Key(10)));
  clock_.Advance(std::chrono::hours(24));
  EXPECT_FALSE(answers_->Find(Key(10)));
  Put(11);
  EXPECT_EQ(Documents(), 1U);
}

TEST_F(DurableAnswersThreaded, ARequestWithADamagedAnswerIsNotExecutedAgain) {
  Put(1);
  EXPECT_TRUE(answers_->loaded());
  DocumentQuery query;
  query.kind = DocumentKind::kAnswer;
  const TenantDocument kept = store_->Read()->ListDocuments(query)->front();
  for (const std::string& damaged : {kept.text->substr(0, 30), std::string(), std::string("{}")}) {
    const TenantDocument broken[] = {{kept.key, damaged},
                                     {{DocumentKind::kAnswer, "", "short"}, "{}"}};
    ASSERT_TRUE(store_->PutDocuments(broken));
    Open();
    EXPECT_EQ(answers_->loaded().error().code, ErrorCode::kStoreCorrupt) << damaged;
    const auto found = answers_->Find(Key(1));
    ASSERT_TRUE(found) << damaged;
    EXPECT_TRUE(found->gone);
    EXPECT_FALSE(found->fingerprint);
  }
  // What belongs to no key is removed with the next write.
  Put(2);
  EXPECT_EQ(Documents(), 2U);
}

TEST_F(DurableAnswersThreaded, ADamagedAnswerIsReportedAsGone) {
  Idempotency idempotency(*answers_);
  const IdempotencyScope scope{"t", "k", "POST", "/v1/runs", ""};
  std::promise<void> given;
  idempotency.Begin(scope, "key", "body").call.Finish({201, {}, "{}"}, Keeping::kDurably, [&] {
    given.set_value();
  });
  given.get_future().wait();
  DocumentQuery query;
  query.kind = DocumentKind::kAnswer;
  TenantDocument damaged = store_->Read()->ListDocuments(query)->front();
  damaged.text = "{";
  ASSERT_TRUE(store_->PutDocuments(std::span(&damaged, 1)));
  Open();
  Idempotency restarted(*answers_);
  EXPECT_EQ(restarted.Begin(scope, "key", "body").outcome, Idempotency::Outcome::kGone);
}

TEST_F(DurableAnswersThreaded, ConcurrentAnswersAreAllKept) {
  Open({.keys_max = 1'000});
  std::promise<void> all;
  std::atomic<int> left{400};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        answers_->Put(Key(t * 100 + i), {Key(1), {200, {}, "{}"}}, Keeping::kDurably, [&] {
          if (--left == 0) all.set_value();
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  all.get_future().wait();
  Open({.keys_max = 1'000});
  for (int n = 0; n < 400; ++n) EXPECT_TRUE(answers_->Find(Key(n))) << n;
}

TEST_F(DurableAnswersThreaded, TenantsTakeTurnsInBoundedWrites) {
  Open({.keys_max = 100, .bytes_max = 64 << 20});
  std::promise<void> begun;
  std::promise<void> go_on;
  std::promise<void> all;
  std::vector<std::string> order;
  const auto put = [&](int n, const std::string& tenant, std::size_t bytes,
                       std::function<void()> kept) {
    answers_->Put(Key(n), {Key(1000 + n), {201, {}, std::string(bytes, 'x')}, false, tenant},
                  Keeping::kDurably, std::move(kept));
  };
  // While the first is reported, the others come in.
  put(0, "much", 10, [&] {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  for (int n = 1; n <= 20; ++n) {
    put(n, "much", 400'000, [&order, &all] {
      order.emplace_back("much");
      if (order.size() == 21) all.set_value();
    });
  }
  put(21, "little", 10, [&order] { order.emplace_back("little"); });
  go_on.set_value();
  all.get_future().wait();
  EXPECT_EQ(std::ranges::find(order, "little") - order.begin(), 1);
  EXPECT_EQ(Documents(), 22U);
}

}  // namespace
}  // namespace everstep
