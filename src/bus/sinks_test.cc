// What each sink does with a batch; parsing of definitions, topics and redaction.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "bus/file_sink.h"
#include "bus/inbound_rule.h"
#include "bus/redaction.h"
#include "bus/sink_definition.h"
#include "bus/topic_template.h"
#include "bus/webhook_sink.h"
#include "testing/loopback_http_server.h"
#include "testing/manual_clock.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Outcome> Deliver(Sink& sink, std::vector<Message> batch) {
  std::promise<std::vector<Outcome>> promise;
  auto outcomes = promise.get_future();
  sink.Deliver(std::move(batch),
               [&promise](std::vector<Outcome> all) { promise.set_value(std::move(all)); });
  return outcomes.get();
}

Message MessageOf(const std::string& id, const std::string& body) {
  return {id, "topic", "application/json", {}, body};
}

std::string Content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(FileSinkTest, LinesAreAppendedAndFilesRotated) {
  TemporaryDirectory directory;
  const std::string path = directory / "sink";
  const auto sink = OpenFileSink(path, {.directory = "", .rotate_bytes = 10, .keep = 1});
  ASSERT_TRUE(sink);
  for (const char* body : {"{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}", "{\"n\":5}"}) {
    EXPECT_EQ(Deliver(**sink, {MessageOf("a", body)}).front().verdict, Verdict::kDelivered);
  }
  EXPECT_EQ(Content(path + "/events.ndjson"), "{\"n\":5}\n");
  EXPECT_EQ(Content(path + "/events.2.ndjson"), "{\"n\":3}\n{\"n\":4}\n");
  EXPECT_FALSE(std::filesystem::exists(path + "/events.1.ndjson")) << "only one is kept";
}

TEST(FileSinkTest, AnIncompleteLineIsCutOff) {
  TemporaryDirectory directory;
  const std::string path = directory / "sink";
  std::filesystem::create_directories(path);
  std::ofstream(path + "/events.ndjson") << "{\"n\":1}\n{\"n\":";
  const auto sink = OpenFileSink(path, {});
  ASSERT_TRUE(sink);
  Deliver(**sink, {MessageOf("a", "{\"n\":2}"), MessageOf("b", "{\"n\":3}")});
  EXPECT_EQ(Content(path + "/events.ndjson"), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
}

HttpOutcome Answered(int status, const char* retry_after = nullptr) {
  HttpOutcome outcome;
  outcome.response.status = status;
  if (retry_after != nullptr) outcome.response.headers.emplace_back("retry-after", retry_after);
  return outcome;
}

TEST(WebhookSinkTest, HttpAnswersAreMappedToOutcomes) {
  const Timestamp now = FromMicros(0);
  EXPECT_EQ(OutcomeOf(Answered(204), now).verdict, Verdict::kDelivered);
  EXPECT_EQ(OutcomeOf(Answered(410), now).verdict, Verdict::kGone);
  for (const int status : {301, 307, 400, 401, 404, 422, 500}) {
    EXPECT_EQ(OutcomeOf(Answered(status), now).verdict, Verdict::kRefused) << status;
  }
  for (const int status : {408, 425, 429, 502, 503, 504}) {
    EXPECT_EQ(OutcomeOf(Answered(status), now).verdict, Verdict::kUnavailable) << status;
  }
  EXPECT_EQ(OutcomeOf(Answered(429, "3"), now).retry_after, std::chrono::seconds(3));
  HttpOutcome none;
  none.failure = HttpFailure::kTimeout;
  EXPECT_EQ(OutcomeOf(none, now).verdict, Verdict::kUnavailable);
}

TEST(WebhookSinkTest, EverySecretSignsAndTheIdStaysTheSame) {
  std::vector<LoopbackHttpServer::Request> requests;
  LoopbackHttpServer server([&](const LoopbackHttpServer::Request& request) {
    requests.push_back(request);
    return LoopbackHttpServer::Response();
  });
  HttpClient client(AddressPolicy{.allow_private = true});
  ManualClock clock;
  const auto one = *WebhookSecret::Parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const auto two = *WebhookSecret::Parse(std::string(40, 'A'));
  SinkDefinition definition;
  definition.kind = "webhook";
  definition.webhook = SinkDefinition::Webhook();
  definition.webhook->url = server.Url("/in");
  const auto sink = NewWebhookSink(definition, client, clock, [&] {
    return Result<std::vector<WebhookSecret>>(std::vector{one, two});
  });
  const std::vector<Message> batch = {MessageOf("a", "{\"n\":1}"), MessageOf("b", "{\"n\":2}")};
  EXPECT_EQ(Deliver(*sink, batch).size(), 2U);
  EXPECT_EQ(Deliver(*sink, batch).front().verdict, Verdict::kDelivered);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].body, "[{\"n\":1},{\"n\":2}]");
  EXPECT_EQ(requests[0].headers["webhook-id"], requests[1].headers["webhook-id"]);
  HttpHeaders headers;
  for (const char* name : {"webhook-id", "webhook-timestamp", "webhook-signature"}) {
    headers.emplace_back(name, requests[0].headers[name]);
  }
  for (const WebhookSecret& secret : {one, two}) {
    EXPECT_EQ(CheckWebhook(headers, requests[0].body, std::span(&secret, 1), clock.Now()).verdict,
              WebhookVerdict::kGood);
  }
}

TEST(WebhookSinkTest, LoopbackAddressesAreRefusedUnlessAllowed) {
  HttpClient client(AddressPolicy{});
  ManualClock clock;
  SinkDefinition definition;
  definition.kind = "webhook";
  definition.webhook = SinkDefinition::Webhook();
  definition.webhook->url = "http://127.0.0.1:9/";
  const auto sink = NewWebhookSink(definition, client, clock, [] {
    return Result<std::vector<WebhookSecret>>(
        std::vector{*WebhookSecret::Parse(std::string(40, 'A'))});
  });
  const auto outcomes = Deliver(*sink, {MessageOf("a", "{}")});
  EXPECT_EQ(outcomes.front().verdict, Verdict::kUnavailable);
  EXPECT_THAT(outcomes.front().reason, HasSubstr("not allowed"));
}

TEST(TopicTemplateTest, PlaceholdersAreFilledAndValuesCannotChangeTheTopic) {
  const RunScope scope{"acme", "web", "prod", "my plan.v2", "1"};
  EXPECT_EQ(TopicTemplate("x.{tenant}.{project}.{environment}.{plan}.{run}.{type}")
                .Render(scope, RunId("r.1:*>"), "tool.processed"),
            "x.acme.web.prod.my_plan_v2.r_1___.tool.processed");
  for (const char* bad : {"a..b", ".a", "a.", "{nothing}", "{type", "a b", "a.*"}) {
    EXPECT_TRUE(TopicTemplate::FaultOf(bad)) << bad;
  }
}

TEST(RedactionTest, PointersAddressMembersItemsAndWildcards) {
  const auto redact = [](const char* json, const char* pointer) {
    const std::vector<std::vector<std::string>> pointers = {PointerParts(pointer)};
    return *Redact(json, pointers);
  };
  EXPECT_EQ(redact(R"({"a":{"b":1,"c":2}})", "/payload/a/b"), R"({"a":{"b":"[redacted]","c":2}})");
  EXPECT_EQ(redact(R"({"a":[{"b":1},{"b":2}]})", "/payload/a/*/b"),
            R"({"a":[{"b":"[redacted]"},{"b":"[redacted]"}]})");
  EXPECT_EQ(redact(R"({"a/b":1})", "/payload/a~1b"), R"({"a/b":"[redacted]"})");
  EXPECT_EQ(redact(R"({"a":1})", "/payload/b"), R"({"a":1})");
}

std::vector<std::string> FaultsOf(const std::string& text, const SinkRules& rules = {}) {
  const auto sink = ReadSinkDefinition("---\n" + text, "s", rules);
  std::vector<std::string> pointers;
  if (!sink) {
    for (const Fault& fault : sink.error().faults) pointers.push_back(fault.pointer);
  }
  return pointers;
}

TEST(SinkDefinitionTest, YamlAndJsonGiveTheSameDefinition) {
  const auto yaml = ReadSinkDefinition("kind: file\nfilter: {types: [RunFailed]}\n", "s", {});
  ASSERT_TRUE(yaml) << ToString(yaml.error());
  const auto json = ReadSinkDefinition(SinkDefinitionJson(*yaml), "s", {});
  ASSERT_TRUE(json) << ToString(json.error());
  EXPECT_EQ(SinkDefinitionJson(*json), SinkDefinitionJson(*yaml));
}

TEST(SinkDefinitionTest, EveryFaultHasItsPointer) {
  EXPECT_THAT(FaultsOf("kind: pigeon"), Contains("/kind"));
  EXPECT_THAT(FaultsOf("kind: webhook"), ElementsAre("/webhook"));
  EXPECT_THAT(FaultsOf(R"({"kind":"webhook","webhook":{"url":"ftp://x","secrets":["whsec_x"]}})"),
              ElementsAre("/webhook/url", "/webhook/secrets/0"));
  EXPECT_THAT(FaultsOf(R"({"kind":"nats","nats":{"servers":["nats://a:1","x"]}})"),
              ElementsAre("/nats/servers/0", "/nats/servers/1"));
  EXPECT_THAT(
      FaultsOf(
          R"({"kind":"nats","nats":{"servers":["nats://a:1"]}})",
          {.owner = SinkOwner::kTenant, .private_addresses = false, .brokers = {"nats://a:1"}}),
      testing::IsEmpty());
  EXPECT_THAT(FaultsOf("{kind: file, file: {directory: /etc}, filter: {tenants: [x]}}"),
              ElementsAre("/file/directory", "/filter/tenants"));
  EXPECT_THAT(
      FaultsOf("{kind: file, filter: {types: [StepComplete], entities: [cow], when: '1 +'}}"),
      ElementsAre("/filter/types/0", "/filter/entities/0", "/filter/when"));
  EXPECT_THAT(FaultsOf("{kind: file, redact: [/eventId], topic: 'a b', delivery: {attempts: 0}}"),
              testing::UnorderedElementsAre("/redact/0", "/topic", "/delivery/attempts"));
  EXPECT_THAT(FaultsOf("{kind: file, sinkId: other}"), ElementsAre("/sinkId"));
  EXPECT_THAT(FaultsOf("{kind: file, sise: 1}"), ElementsAre("/sise"));
}

InboundEvent Order(int number) {
  const std::string body = R"({"specversion":"1.0","id":"7","source":"/shop","type":"acme.order",)"
                           R"("data":{"n":)" +
                           std::to_string(number) + "}}";
  return ReadInboundEvents({{"content-type", "application/cloudevents+json"}}, body, "")->front();
}

TEST(InboundRuleTest, ARuleSelectsEventsAndRendersItsOrder) {
  const auto rule = ReadInboundRule(
      "---\n{types: [acme.*], sources: [/shop], when: event.data.n > 1, start: {planId: p, inputs: "
      "{n: "
      "'{{ event.data.n }}', t: 'no. {{ event.data.n }}'}}}",
      "r");
  ASSERT_TRUE(rule) << ToString(rule.error());
  std::size_t left = kInboundOperationsMax;
  const auto none = Apply(*rule, Order(1), left);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  const auto order = Apply(*rule, Order(2), left);
  ASSERT_TRUE(order && *order);
  EXPECT_EQ((*order)->start->inputs, R"({"n":2,"t":"no. 2"})");
  EXPECT_EQ((*order)->key, (*Apply(*rule, Order(3), left))->key)
      << "source and id identify the event";
}

TEST(InboundRuleTest, AllRulesShareOneBudget) {
  const auto rule = ReadInboundRule(
      "---\n{types: [acme.*], when: 'range(20000) | sum < 0', start: {planId: p}}", "r");
  ASSERT_TRUE(rule) << ToString(rule.error());
  std::size_t left = kInboundOperationsMax;
  int applied = 0;
  while (left > 0 && applied < 1'000) {
    (void)Apply(*rule, Order(1), left);
    ++applied;
  }
  EXPECT_EQ(left, 0U);
  EXPECT_LT(applied, 1'000) << "a hundred rules for a hundred events are refused";
  EXPECT_GT(applied, 50) << "and a few heavy ones are not";
  left = 0;
  EXPECT_FALSE(Apply(*rule, Order(1), left));
}

TEST(InboundRuleTest, EventsAreReadInEveryForm) {
  const auto binary = ReadInboundEvents(
      {{"ce-specversion", "1.0"}, {"ce-id", "1"}, {"ce-source", "/s"}, {"ce-type", "t"}},
      R"({"n":1})", "");
  ASSERT_TRUE(binary);
  EXPECT_EQ(binary->front().document.Get("data").Get("n"), Value::Int(1));
  const auto plain = ReadInboundEvents({}, R"({"type":"t","n":2})", "msg-1");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->front().id, "msg-1");
  EXPECT_EQ(plain->front().document.Get("data").Get("n"), Value::Int(2));
  EXPECT_FALSE(ReadInboundEvents({{"content-type", "application/cloudevents+json"}},
                                 R"({"id":"1","type":"t"})", ""));
  EXPECT_FALSE(ReadInboundEvents({}, "[1]", "msg-1"));
}

TEST(InboundRuleTest, EveryFaultHasItsPointer) {
  const auto faults = [](const char* text) {
    std::vector<std::string> pointers;
    const auto rule = ReadInboundRule("---\n" + std::string(text), "r");
    if (!rule) {
      for (const Fault& fault : rule.error().faults) pointers.push_back(fault.pointer);
    }
    return pointers;
  };
  EXPECT_THAT(faults("{types: [], start: {planId: p}}"), ElementsAre("/types"));
  EXPECT_THAT(faults("{types: [a]}"), ElementsAre(""));
  EXPECT_THAT(faults("{types: [a], when: '1 +', start: {planId: p, inputs: {n: '{{ 1 + }}'}}}"),
              ElementsAre("/when", "/start/inputs/n"));
}

}  // namespace
}  // namespace everstep
