#include "serve/idempotency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "testing/manual_clock.h"

namespace everstep {
namespace {

using Outcome = Idempotency::Outcome;

class IdempotencyTest : public ::testing::Test {
 protected:
  Idempotency::Begun Begin(std::string_view key, std::string_view body = "{}",
                           IdempotencyScope scope = {"t1", "tok", "POST", "/v1/runs", ""}) {
    return idempotency_.Begin(scope, key, body);
  }
  static ServerResponse Created() { return {201, {{"Location", "/v1/runs/r1"}}, "{\"r\":1}"}; }
  void Do(std::string_view key, const ServerResponse& response) {
    auto begun = Begin(key);
    ASSERT_EQ(begun.outcome, Outcome::kFresh);
    begun.call.Finish(response, Keeping::kDurably, [] {});
  }

  ManualClock clock_;
  MemoryIdempotencyStore store_{{.keys_max = 3, .bytes_max = 10'000}, clock_};
  Idempotency idempotency_{store_};
};

TEST_F(IdempotencyTest, TheSameRequestGetsTheSameAnswer) {
  Do("k1", Created());
  const auto again = Begin("k1");
  EXPECT_EQ(again.outcome, Outcome::kReplayed);
  EXPECT_EQ(again.response.status, 201);
  EXPECT_EQ(again.response.body, "{\"r\":1}");
  EXPECT_THAT(again.response.headers,
              ::testing::ElementsAre(::testing::Pair("Location", "/v1/runs/r1"),
                                     ::testing::Pair("Idempotency-Replayed", "true")));
}

TEST_F(IdempotencyTest, AnotherRequestWithTheSameKeyIsRefused) {
  Do("k1", Created());
  EXPECT_EQ(Begin("k1", "{\"x\":1}").outcome, Outcome::kReused);
  EXPECT_EQ(Begin("k1", "{}", {"t1", "tok", "POST", "/v1/runs", "a=b"}).outcome, Outcome::kReused);
}

TEST_F(IdempotencyTest, ConcurrentRequestsWithTheSameKeyAreRefused) {
  auto first = Begin("k1");
  EXPECT_EQ(Begin("k1").outcome, Outcome::kInUse);
  EXPECT_EQ(Begin("k1", "other").outcome, Outcome::kReused);
  first.call.Finish(Created(), Keeping::kDurably, [] {});
  EXPECT_EQ(Begin("k1").outcome, Outcome::kReplayed);
}

TEST_F(IdempotencyTest, ADroppedRequestReleasesItsKey) {
  { const auto dropped = Begin("k1"); }
  auto second = Begin("k1", "other");
  EXPECT_EQ(second.outcome, Outcome::kFresh);
  Idempotency::Call moved = std::move(second.call);
  second.call.Drop();
  EXPECT_EQ(Begin("k1", "other").outcome, Outcome::kInUse);
  moved.Drop();
  EXPECT_EQ(Begin("k1").outcome, Outcome::kFresh);
}

TEST_F(IdempotencyTest, RetryableAnswersAreNotKept) {
  for (const int status : {500, 503, 507, 429, 409, 408}) {
    Do("k", {status, {}, ""});
    EXPECT_EQ(Begin("k").outcome, Outcome::kFresh) << status;
  }
  for (const int status : {200, 201, 404, 422}) {
    const std::string key = "k" + std::to_string(status);
    Do(key, {status, {}, ""});
    EXPECT_EQ(Begin(key).outcome, Outcome::kReplayed) << status;
  }
}

TEST_F(IdempotencyTest, KeysAreScopedToTheCaller) {
  Do("k1", Created());
  EXPECT_EQ(Begin("k1", "{}", {"t2", "tok", "POST", "/v1/runs", ""}).outcome, Outcome::kFresh);
  EXPECT_EQ(Begin("k1", "{}", {"t1", "to2", "POST", "/v1/runs", ""}).outcome, Outcome::kFresh);
  EXPECT_EQ(Begin("k1", "{}", {"t1", "tok", "PUT", "/v1/runs", ""}).outcome, Outcome::kFresh);
  EXPECT_EQ(Begin("k1", "{}", {"t1", "tok", "POST", "/v1/plans", ""}).outcome, Outcome::kFresh);
  EXPECT_EQ(Begin("k1", "{}", {"t1t", "ok", "POST", "/v1/runs", ""}).outcome, Outcome::kFresh);
}

TEST_F(IdempotencyTest, KeysAreOneTo255PrintableCharacters) {
  for (const std::string& key :
       {std::string(), std::string("\"\""), std::string(256, 'a'), std::string("a\tb"),
        std::string("é"), std::string("\"a\"b\""), std::string("\"a\\\"")}) {
    EXPECT_EQ(Begin(key).outcome, Outcome::kInvalidKey) << key;
  }
  EXPECT_EQ(Begin(std::string(255, 'a')).outcome, Outcome::kFresh);
  Do("\"a \\\"b\\\\\"", Created());
  EXPECT_EQ(Begin("a \"b\\").outcome, Outcome::kReplayed);
}

TEST_F(IdempotencyTest, AnswersExpireAfterADay) {
  Do("k1", Created());
  clock_.Advance(std::chrono::hours(24) - std::chrono::seconds(1));
  EXPECT_EQ(Begin("k1").outcome, Outcome::kReplayed);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Begin("k1", "other").outcome, Outcome::kFresh);
}

TEST_F(IdempotencyTest, TheOldestAnswerIsEvictedBeyondTheLimit) {
  for (const std::string key : {"k1", "k2", "k3"}) Do(key, Created());
  EXPECT_EQ(Begin("k1").outcome, Outcome::kReplayed);
  Do("k4", Created());
  EXPECT_EQ(Begin("k2").outcome, Outcome::kReplayed);
  EXPECT_EQ(Begin("k1").outcome, Outcome::kFresh);
}

TEST_F(IdempotencyTest, ATenantWithManyKeysEvictsOnlyItsOwnAnswers) {
  const IdempotencyScope rival{"rival", "tok", "POST", "/v1/runs", ""};
  Do("mine", Created());
  for (int i = 0; i < 20; ++i) {
    auto begun = Begin("k" + std::to_string(i), "{}", rival);
    begun.call.Finish(Created(), Keeping::kDurably, [] {});
  }
  EXPECT_EQ(Begin("mine").outcome, Outcome::kReplayed);
  EXPECT_EQ(Begin("k19", "{}", rival).outcome, Outcome::kReplayed);
  EXPECT_EQ(Begin("k0", "{}", rival).outcome, Outcome::kFresh);
  // The same holds for large answers.
  auto begun = Begin("large", "{}", rival);
  begun.call.Finish({201, {}, std::string(8'500, 'x')}, Keeping::kDurably, [] {});
  EXPECT_EQ(Begin("mine").outcome, Outcome::kReplayed);
}

TEST_F(IdempotencyTest, EvictedAnswersFreeTheirMemory) {
  Do("k1", Created());
  Do("k2", Created());
  const std::size_t two = store_.bytes();
  clock_.Advance(std::chrono::hours(24));
  Do("k3", Created());
  EXPECT_EQ(store_.bytes() * 2, two);
}

// A store that keeps an answer when the test releases it.
class SlowStore final : public IdempotencyStore {
 public:
  std::optional<KeptAnswer> Find(const IdempotencyKeyDigest& /*key*/) override { return found; }
  void Put(const IdempotencyKeyDigest& /*key*/, KeptAnswer answer, Keeping /*keeping*/,
           std::function<void()> kept) override {
    found = std::move(answer);
    kept_ = std::move(kept);
  }
  void Keep() { kept_(); }

  std::optional<KeptAnswer> found;

 private:
  std::function<void()> kept_;
};

TEST(IdempotencyOrderTest, AnAnswerIsGivenOnlyAfterItIsKept) {
  SlowStore store;
  Idempotency idempotency(store);
  const IdempotencyScope scope{"t1", "tok", "POST", "/v1/runs", ""};
  auto begun = idempotency.Begin(scope, "k1", "{}");
  bool given = false;
  begun.call.Finish({201, {}, "{}"}, Keeping::kDurably, [&] { given = true; });
  EXPECT_FALSE(given);
  EXPECT_EQ(idempotency.Begin(scope, "k1", "{}").outcome, Outcome::kInUse);
  store.Keep();
  EXPECT_TRUE(given);
  EXPECT_EQ(idempotency.Begin(scope, "k1", "{}").outcome, Outcome::kReplayed);
  store.found->gone = true;
  EXPECT_EQ(idempotency.Begin(scope, "k1", "{}").outcome, Outcome::kGone);
  EXPECT_EQ(idempotency.Begin(scope, "k1", "[]").outcome, Outcome::kReused);
}

TEST_F(IdempotencyTest, BytesAreBounded) {
  for (int i = 0; i < 3; ++i) Do("k" + std::to_string(i), {200, {}, std::string(4'000, 'x')});
  EXPECT_LE(store_.bytes(), 10'000U);
  EXPECT_EQ(Begin("k0").outcome, Outcome::kFresh);
  EXPECT_EQ(Begin("k2").outcome, Outcome::kReplayed);
  Do("big", {200, {}, std::string(20'000, 'x')});
  EXPECT_EQ(Begin("big").outcome, Outcome::kFresh);
  EXPECT_EQ(Begin("k2").outcome, Outcome::kReplayed);
}

TEST_F(IdempotencyTest, OnlyOneOfManyConcurrentRequestsIsFresh) {
  std::atomic<int> fresh{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        auto begun = Begin("k1");
        if (begun.outcome != Outcome::kFresh) continue;
        ++fresh;
        begun.call.Finish(Created(), Keeping::kDurably, [] {});
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(fresh, 1);
}

}  // namespace
}  // namespace everstep
