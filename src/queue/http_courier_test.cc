#include "queue/http_courier.h"

#include <gtest/gtest.h>

#include <future>

#include "base/hmac.h"
#include "base/sha256.h"
#include "testing/loopback_http_server.h"
#include "testing/manual_clock.h"

namespace everstep {
namespace {

using namespace std::chrono_literals;
using Kind = DeliveryOutcome::Kind;

DeliveryOutcome Answered(int status, std::string body) {
  HttpOutcome outcome;
  outcome.response.status = status;
  outcome.response.body = std::move(body);
  return OutcomeOf(outcome);
}

TEST(HttpCourier, MapsResponsesToOutcomes) {
  EXPECT_EQ(Answered(200, R"({"ok":true})").kind, Kind::kDone);
  EXPECT_EQ(Answered(204, "").kind, Kind::kDone);
  EXPECT_EQ(Answered(200, "not JSON").kind, Kind::kDone);
  const DeliveryOutcome again = Answered(200, R"({"timeoutSeconds":1.5})");
  EXPECT_EQ(again.kind, Kind::kAgain);
  EXPECT_EQ(again.after, 1500ms);
  EXPECT_EQ(Answered(200, R"({"timeoutSeconds":0})").kind, Kind::kAgain);
  EXPECT_EQ(Answered(200, R"({"timeoutSeconds":-1})").kind, Kind::kDone);
  EXPECT_EQ(Answered(200, R"({"timeoutSeconds":"soon"})").kind, Kind::kDone);
  EXPECT_EQ(Answered(302, "").kind, Kind::kFailed);
  const DeliveryOutcome failed = Answered(500, "boom");
  EXPECT_EQ(failed.kind, Kind::kFailed);
  EXPECT_EQ(failed.error, "the application answered HTTP 500");
}

TEST(HttpCourier, DistinguishesUnreachableEndpointsFromBrokenConnections) {
  HttpOutcome outcome;
  outcome.failure = HttpFailure::kConnect;
  outcome.connected = false;
  EXPECT_EQ(OutcomeOf(outcome).kind, Kind::kNotTaken);
  outcome.connected = true;
  EXPECT_EQ(OutcomeOf(outcome).kind, Kind::kBroken);
  outcome.failure = HttpFailure::kAddressNotAllowed;
  EXPECT_EQ(OutcomeOf(outcome).kind, Kind::kNotTaken);
  outcome.failure = HttpFailure::kBadRequest;
  EXPECT_EQ(OutcomeOf(outcome).kind, Kind::kFailed);
}

TEST(HttpCourier, ADeliveryHasOurSignatureAndFramingHeaders) {
  std::promise<LoopbackHttpServer::Request> taken;
  LoopbackHttpServer server([&taken](const LoopbackHttpServer::Request& request) {
    taken.set_value(request);
    return LoopbackHttpServer::Response{200, {}, R"({"timeoutSeconds":2})"};
  });
  ManualClock clock;
  HttpCourier courier(clock, false);
  MessageCourier::Delivery delivery;
  delivery.head.id = "msg_1";
  delivery.head.topic = "orders.new";
  delivery.head.attempt = 3;
  delivery.content = {{{"traceparent", "00-1"}, {"Content-Length", "0"}, {"Everstep-Queue", "x"}},
                      R"({"n":1})"};
  delivery.url = server.Url("/flow");
  delivery.secret = "sixteen characters";
  delivery.on_this_machine = true;
  std::promise<DeliveryOutcome> ended;
  courier.Deliver(delivery, [&ended](DeliveryOutcome outcome) { ended.set_value(outcome); });
  const auto request = taken.get_future().get();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/flow");
  EXPECT_EQ(request.body, delivery.content.body);
  EXPECT_EQ(request.headers.at("everstep-queue"), "orders.new");
  EXPECT_EQ(request.headers.at("everstep-message-id"), "msg_1");
  EXPECT_EQ(request.headers.at("everstep-attempt"), "3");
  EXPECT_EQ(request.headers.at("traceparent"), "00-1");
  EXPECT_EQ(request.headers.at("content-type"), "application/json");
  const auto at = std::chrono::floor<std::chrono::seconds>(clock.Now().time_since_epoch()).count();
  const std::string text = std::to_string(at) + R"(.orders.new.msg_1.3.{"n":1})";
  EXPECT_EQ(request.headers.at("everstep-signature"),
            "t=" + std::to_string(at) + ",v1=" + ToHex(HmacSha256("sixteen characters", text)));
  EXPECT_EQ(ended.get_future().get().after, 2s);
}

TEST(HttpCourier, ALocalEndpointMayUseLoopbackButNoPrivateNetwork) {
  ManualClock clock;
  HttpCourier courier(clock, false);
  MessageCourier::Delivery delivery;
  delivery.head.topic = "t";
  delivery.url = "http://10.0.0.1:1/";
  delivery.secret = "sixteen characters";
  delivery.on_this_machine = true;
  std::promise<DeliveryOutcome> ended;
  courier.Deliver(delivery, [&ended](DeliveryOutcome outcome) { ended.set_value(outcome); });
  EXPECT_NE(ended.get_future().get().error.find("is not allowed"), std::string::npos);
}

TEST(HttpCourier, ARemoteEndpointMayNotUseLoopback) {
  LoopbackHttpServer server([](const LoopbackHttpServer::Request&) {
    ADD_FAILURE() << "the loopback address was reached";
    return LoopbackHttpServer::Response{};
  });
  ManualClock clock;
  HttpCourier courier(clock, false);
  MessageCourier::Delivery delivery;
  delivery.head.topic = "t";
  delivery.url = server.Url("/flow");
  delivery.secret = "sixteen characters";
  std::promise<DeliveryOutcome> ended;
  courier.Deliver(delivery, [&ended](DeliveryOutcome outcome) { ended.set_value(outcome); });
  EXPECT_EQ(ended.get_future().get().kind, Kind::kNotTaken);
}

}  // namespace
}  // namespace everstep
