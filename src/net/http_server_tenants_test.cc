// What the clients of one tenant can use of a server, and what is left to others.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/server_fixture.h"

namespace everstep {
namespace {

using HttpServerTenantsThreaded = ServerTest;
using Outcome = MemoryCharge::Outcome;

const std::string kFirst = "X-Tenant: first\r\n";
const std::string kSecond = "X-Tenant: second\r\n";
const std::string kOperator;

void VouchAndEcho(HttpCall call) {
  const auto vouched = call.Vouch(TestHandler::ClientOf(call.request()));
  if (vouched != HttpCall::Vouched::kTaken) return call.Reply(TextResponse("no", 503));
  if (call.request().path == "/large") return call.Reply(TextResponse(std::string(12 << 20, 'x')));
  Echo(std::move(call));
}

// The head of a request with a body, and some of the body.
std::string BodyText(const std::string& headers, std::size_t length, std::size_t sent) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + headers + "Content-Length: " + std::to_string(length) +
         "\r\n\r\n" + std::string(sent, 'x');
}

TEST_F(HttpServerTenantsThreaded, ATenantHasItsShareOfTheConnections) {
  TestHandler handler(VouchAndEcho);
  Serve(handler, {.connections_max = 20, .tenant_share = 50});
  std::vector<SocketClient> clients;
  const auto connect = [&](const std::string& tenant) {
    clients.push_back(Connect());
    clients.back().Send(GetText("/", tenant));
    return clients.back().ReadAnswer().status;
  };
  for (int i = 0; i < 10; ++i) ASSERT_EQ(connect(kFirst), 200) << i;
  EXPECT_EQ(connect(kFirst), 503);
  EXPECT_EQ(connect(kFirst), 503);
  // All tenants together leave a tenth; a refused client makes room.
  for (int i = 0; i < 8; ++i) ASSERT_EQ(connect(kSecond), 200) << i;
  EXPECT_EQ(connect(kSecond), 503);
  EXPECT_EQ(connect(kOperator), 200);
  EXPECT_EQ(connect(kOperator), 200);
  clients.front().Reset();
  EXPECT_TRUE(Eventually([&] {
    SocketClient another = Connect();
    another.Send(GetText("/", kFirst));
    return another.ReadAnswer().status == 200;
  })) << "released connections may be used again";
}

TEST_F(HttpServerTenantsThreaded, AnArrivingBodyCountsAsAConnectionOfItsTenant) {
  TestHandler handler(VouchAndEcho);
  Serve(handler, {.connections_max = 4, .tenant_share = 50});
  std::vector<SocketClient> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(Connect());
    slow.back().Send(BodyText(kFirst, 100'000, 1));
    ASSERT_TRUE(Eventually(
        [&] { return server_->Metrics().buffered_bytes > static_cast<std::size_t>(i) * 60'000; }));
  }
  SocketClient third = Connect();
  third.Send(BodyText(kFirst, 100'000, 1));
  const auto answer = third.ReadAnswer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("TOO_MANY_CONNECTIONS"), std::string::npos) << answer.body;
}

TEST_F(HttpServerTenantsThreaded, BodiesAreChargedToTheirTenant) {
  TestHandler handler(VouchAndEcho);
  handler.body_bytes_max = 8 << 20;
  // Bodies may use 6 MiB, and a tenant half of that.
  Serve(handler, {.tenant_share = 50, .memory_bytes_max = 8 << 20});
  SocketClient holder = Connect();
  holder.Send(BodyText(kFirst, 4'000'000, 2'000'000));
  ASSERT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes >= 2'000'000; }));
  SocketClient more = Connect();
  more.Send(BodyText(kFirst, 4'000'000, 2'000'000));
  EXPECT_EQ(more.ReadAnswer().status, 503);
  for (const std::string& other : {kSecond, kOperator}) {
    SocketClient client = Connect();
    client.Send(BodyText(other, 2'000'000, 2'000'000));
    EXPECT_EQ(client.ReadAnswer().status, 200) << other;
  }
  holder.Reset();
  ASSERT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes < 100'000; }));
  SocketClient again = Connect();
  again.Send(BodyText(kFirst, 2'000'000, 2'000'000));
  EXPECT_EQ(again.ReadAnswer().status, 200) << "what it held was given back";
}

TEST_F(HttpServerTenantsThreaded, AnswersThatATenantDoesNotReadAreChargedToIt) {
  TestHandler handler(VouchAndEcho);
  Serve(handler, {.tenant_share = 10, .memory_bytes_max = 64 << 20});
  std::vector<SocketClient> lazy;
  for (int i = 0; i < 2; ++i) {
    lazy.push_back(Connect(4 << 10));
    lazy.back().Send(GetText("/large", kFirst));
  }
  SocketClient first = Connect();
  EXPECT_TRUE(Eventually([&] {
    first.Send(GetText("/", kFirst));
    return first.ReadAnswer().status == 503;
  }));
  SocketClient second = Connect();
  second.Send(GetText("/", kSecond));
  EXPECT_EQ(second.ReadAnswer().status, 200);
}

TEST(MemoryChargeTest, ParsedBodiesAreChargedToTheirTenantAndEachHasAMinimum) {
  constexpr std::size_t kRoom = 8 << 20;  // for what is parsed, of 16 MiB
  TenantAccounts tenants({10, 50});
  const auto account = std::make_shared<MemoryAccount>(16 << 20, 50);
  const MemoryHolder one{tenants.Take("first"), false};
  const MemoryHolder other{tenants.Take("second"), false};
  MemoryCharge charges[4];
  EXPECT_EQ(charges[0].TakeParsed(account, MemoryClaim::kBody, one, kRoom + 1), Outcome::kNever);
  EXPECT_EQ(charges[0].TakeParsed(account, MemoryClaim::kBody, one, kRoom), Outcome::kTaken)
      << "one request may have it all";
  EXPECT_EQ(charges[1].TakeParsed(account, MemoryClaim::kBody, one, 1), Outcome::kNotNow);
  EXPECT_EQ(charges[2].TakeParsed(account, MemoryClaim::kBody, other, kRoom / 16), Outcome::kTaken)
      << "a small amount is available to each tenant";
  EXPECT_EQ(charges[3].TakeParsed(account, MemoryClaim::kBody, other, kRoom / 16),
            Outcome::kNotNow);
  charges[0].Release();
  EXPECT_EQ(charges[0].TakeParsed(account, MemoryClaim::kBody, one, kRoom / 4), Outcome::kTaken);
  EXPECT_EQ(charges[1].TakeParsed(account, MemoryClaim::kBody, one, kRoom / 4), Outcome::kTaken);
  EXPECT_EQ(charges[3].TakeParsed(account, MemoryClaim::kBody, one, 1), Outcome::kNotNow)
      << "together they have its share";
  for (MemoryCharge& charge : charges) charge.Release();
  EXPECT_EQ(account->bytes(), 0u);
  EXPECT_EQ(one.tenant->bytes + other.tenant->bytes + one.tenant->parsed, 0u);
}

TEST(MemoryChargeTest, AnAnswerMayExceedAShareOfWhichLittleIsUsed) {
  TenantAccounts tenants({10, 50});
  const auto account = std::make_shared<MemoryAccount>(16 << 20, 50);
  const MemoryHolder tenant{tenants.Take("first"), false};
  MemoryCharge charges[3];
  EXPECT_TRUE(charges[0].TakeAnswer(account, tenant, 6 << 20));
  EXPECT_FALSE(charges[1].TakeAnswer(account, tenant, 3 << 20));
  EXPECT_TRUE(charges[1].TakeAnswer(account, tenant, 2 << 20));
  charges[0].Release();
  EXPECT_FALSE(charges[0].TakeAnswer(account, tenant, 9 << 20)) << "of which much is used";
  charges[1].Release();
  EXPECT_TRUE(charges[0].TakeAnswer(account, tenant, 9 << 20));
  EXPECT_FALSE(charges[1].TakeAnswer(account, tenant, 1 << 20));
  EXPECT_TRUE(charges[1].TakeAnswer(account, {nullptr, true}, 6 << 20)) << "the operator's";
  EXPECT_FALSE(charges[2].TakeAnswer(account, {nullptr, true}, 2 << 20)) << "all there is";
  for (MemoryCharge& charge : charges) charge.Release();
  EXPECT_EQ(account->bytes() + tenant.tenant->bytes, 0u);
}

TEST(MemoryChargeTest, ClientsWithoutACredentialHaveAQuarterAndDoNotCountAgainstTheOperator) {
  const auto account = std::make_shared<MemoryAccount>(16 << 20, 50);
  MemoryCharge charges[2];
  EXPECT_TRUE(charges[0].TakeAnswer(account, {}, 4 << 20));
  EXPECT_FALSE(charges[1].TakeAnswer(account, {}, 1));
  EXPECT_TRUE(charges[1].TakeAnswer(account, {nullptr, true}, 16 << 20));
  EXPECT_FALSE(account->IsFull(MemoryClaim::kAnswer, {nullptr, true}));
}

TEST(MemoryChargeTest, ABodyMovesToTheTenantThatProvesToSendIt) {
  TenantAccounts tenants({10, 50});
  const auto account = std::make_shared<MemoryAccount>(16 << 20, 50);
  const MemoryHolder one{tenants.Take("first"), false};
  MemoryCharge charge;
  charge.TakeBody(account, MemoryClaim::kBody, {}, 1'000);
  charge.MoveTo(one);
  EXPECT_EQ(one.tenant->bytes, 1'000u);
  EXPECT_EQ(account->bytes(), 1'000u);
  charge.MoveTo({nullptr, true});
  EXPECT_EQ(one.tenant->bytes, 0u);
  EXPECT_EQ(account->bytes(), 1'000u);
}

TEST_F(HttpServerTenantsThreaded, AnAddressHasItsShareOfTheConnections) {
  TestHandler handler(VouchAndEcho);
  Serve(handler, {.connections_per_address = 2});
  SocketClient first = Connect();
  SocketClient second = Connect();
  first.Send(GetText("/"));
  second.Send(GetText("/"));
  EXPECT_EQ(first.ReadAnswer().status, 200);
  EXPECT_EQ(second.ReadAnswer().status, 200);
  SocketClient third = Connect();
  third.Send(GetText("/"));
  const auto answer = third.ReadAnswer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("TOO_MANY_CONNECTIONS"), std::string::npos) << answer.body;
  first.Reset();
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 1; }));
  SocketClient fourth = Connect();
  fourth.Send(GetText("/"));
  EXPECT_EQ(fourth.ReadAnswer().status, 200);
}

}  // namespace
}  // namespace everstep
