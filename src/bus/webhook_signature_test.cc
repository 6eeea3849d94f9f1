#include "bus/webhook_signature.h"

#include <gtest/gtest.h>

#include <vector>

namespace everstep {
namespace {

// The example from the specification's reference libraries.
constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr std::string_view kId = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr std::int64_t kSeconds = 1614265330;
constexpr std::string_view kBody = "{\"test\": 2432232314}";
constexpr std::string_view kSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

class WebhookSignatureTest : public ::testing::Test {
 protected:
  WebhookVerdict Check(std::string_view body = kBody) const {
    return CheckWebhook(headers_, body, secrets_, now_).verdict;
  }
  void SetHeader(std::string_view name, std::string_view value) {
    std::erase_if(headers_, [&](const auto& header) { return header.first == name; });
    headers_.emplace_back(name, value);
  }

  std::vector<WebhookSecret> secrets_ = {*WebhookSecret::Parse(kSecret)};
  Timestamp now_{std::chrono::seconds(kSeconds)};
  HttpHeaders headers_ = {{"webhook-id", std::string(kId)},
                          {"webhook-timestamp", std::to_string(kSeconds)},
                          {"webhook-signature", std::string(kSignature)}};
};

TEST_F(WebhookSignatureTest, TheExampleFromTheSpecificationIsValid) {
  EXPECT_EQ(secrets_[0].Sign(kId, kSeconds, kBody), kSignature);
  const WebhookCheck check = CheckWebhook(headers_, kBody, secrets_, now_);
  EXPECT_EQ(check.verdict, WebhookVerdict::kGood);
  EXPECT_EQ(check.id, kId);
}

TEST_F(WebhookSignatureTest, AnyChangeIsDetected) {
  EXPECT_EQ(Check("{\"test\": 2432232315}"), WebhookVerdict::kBadSignature);
  SetHeader("webhook-id", "msg_other");
  EXPECT_EQ(Check(), WebhookVerdict::kBadSignature);
  SetHeader("webhook-id", kId);
  SetHeader("webhook-timestamp", std::to_string(kSeconds + 1));
  EXPECT_EQ(Check(), WebhookVerdict::kBadSignature);
  SetHeader("webhook-timestamp", std::to_string(kSeconds));
  EXPECT_EQ(Check(), WebhookVerdict::kGood);
  secrets_ = {*WebhookSecret::Parse(std::string(40, 'A'))};
  EXPECT_EQ(Check(), WebhookVerdict::kBadSignature);
  secrets_.clear();
  EXPECT_EQ(Check(), WebhookVerdict::kBadSignature);
}

TEST_F(WebhookSignatureTest, OneOfSeveralSignaturesAndSecretsIsEnough) {
  SetHeader("webhook-signature", "v1a,abc v1,AAAA " + std::string(kSignature) + " v2,x");
  secrets_.insert(secrets_.begin(), *WebhookSecret::Parse(std::string(40, 'A')));
  EXPECT_EQ(Check(), WebhookVerdict::kGood);
}

TEST_F(WebhookSignatureTest, OtherSchemesDoNotCount) {
  SetHeader("webhook-signature", "v2," + std::string(kSignature.substr(3)));
  EXPECT_EQ(Check(), WebhookVerdict::kBadSignature);
}

TEST_F(WebhookSignatureTest, OldAndFutureTimestampsAreRefused) {
  now_ += kWebhookTolerance;
  EXPECT_EQ(Check(), WebhookVerdict::kGood);
  now_ += std::chrono::seconds(1);
  EXPECT_EQ(Check(), WebhookVerdict::kTooOld);
  now_ -= 2 * kWebhookTolerance + std::chrono::seconds(1);
  EXPECT_EQ(Check(), WebhookVerdict::kGood);
  now_ -= std::chrono::seconds(1);
  EXPECT_EQ(Check(), WebhookVerdict::kTooNew);
}

TEST_F(WebhookSignatureTest, MissingMalformedOrRepeatedHeadersAreRefused) {
  for (const std::string name : {"webhook-id", "webhook-timestamp", "webhook-signature"}) {
    const HttpHeaders good = headers_;
    SetHeader(name, "");
    EXPECT_EQ(Check(), WebhookVerdict::kMalformed) << name;
    headers_ = good;
    std::erase_if(headers_, [&](const auto& header) { return header.first == name; });
    EXPECT_EQ(Check(), WebhookVerdict::kMalformed) << name;
    headers_ = good;
    headers_.push_back(headers_.front());
    headers_.back().first = name;
    EXPECT_EQ(Check(), WebhookVerdict::kMalformed) << name;
    headers_ = good;
  }
  for (const std::string time : {"-1", "1e9", "99999999999999", "soon", " 1614265330"}) {
    SetHeader("webhook-timestamp", time);
    EXPECT_EQ(Check(), WebhookVerdict::kMalformed) << time;
  }
}

TEST(WebhookSecretTest, SecretsHaveTwentyFourTo64Bytes) {
  EXPECT_TRUE(WebhookSecret::Parse("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
  EXPECT_FALSE(WebhookSecret::Parse("whsec_"));
  EXPECT_FALSE(WebhookSecret::Parse("whsec_c2hvcnQ="));
  EXPECT_FALSE(WebhookSecret::Parse("whsec_!!!!"));
  EXPECT_FALSE(WebhookSecret::Parse(std::string(88, 'A')));
}

TEST(WebhookIdsTest, AnIdIsNewOnceAndPerEndpoint) {
  WebhookIds ids;
  Timestamp now{std::chrono::seconds(kSeconds)};
  EXPECT_TRUE(ids.Add("t1/a", "m1", now));
  EXPECT_FALSE(ids.Add("t1/a", "m1", now));
  EXPECT_TRUE(ids.Add("t1/b", "m1", now));
  now += 2 * kWebhookTolerance;
  EXPECT_TRUE(ids.Add("t1/a", "m1", now));
}

TEST(WebhookIdsTest, AForgottenIdIsNewAgainAndThenKnownForTheFullPeriod) {
  WebhookIds ids;
  const Timestamp start{std::chrono::seconds(kSeconds)};
  EXPECT_TRUE(ids.Add("a", "m1", start));
  ids.Forget("a", "m1");
  EXPECT_TRUE(ids.Add("a", "m1", start + kWebhookTolerance));
  EXPECT_FALSE(ids.Add("a", "m1", start + 2 * kWebhookTolerance));
}

TEST(WebhookIdsTest, TheNumberOfIdsIsBounded) {
  WebhookIds ids(2);
  const Timestamp now{std::chrono::seconds(kSeconds)};
  EXPECT_TRUE(ids.Add("a", "1", now));
  EXPECT_TRUE(ids.Add("a", "2", now));
  EXPECT_TRUE(ids.Add("a", "3", now));
  EXPECT_FALSE(ids.Add("a", "3", now));
  EXPECT_TRUE(ids.Add("a", "1", now));
}

}  // namespace
}  // namespace everstep
