// What one tenant can do to the queue, and how that affects other tenants; and damaged rows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <thread>

#include "queue/queue_rows.h"
#include "testing/message_queue_fixture.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

class MessageQueueBoundsTest : public MessageQueueTest {
 protected:
  void Join(const std::string& tenant, const std::string& id, std::uint32_t concurrency = 10'000) {
    Endpoint app = App(id, concurrency);
    app.tenant_id = tenant;
    app.routes[0].url += id;
    ASSERT_TRUE(queue_->Register(app));
  }
  // `wake` is called when it has to be found out whether a group has stalled.
  void OpenWithWake(const std::function<void()>& wake) {
    auto queue = MessageQueue::Open({*store_, committer_, clock_, random_, courier_,
                                     [](const std::string&, const std::string&) { return false; },
                                     [](const std::string&, const std::string&) { return false; },
                                     [wake](const std::string&, const std::string&, bool) {
                                       wake();
                                       return std::optional<NewMessage>();
                                     }},
                                    {});
    ASSERT_TRUE(queue);
    queue_ = *std::move(queue);
  }
  void SendMany(const std::string& tenant, int count, const NewMessage& like = {}) {
    NewMessage message = like;
    message.tenant_id = tenant;
    message.topic = "orders.new";
    ASSERT_TRUE(queue_->Send(std::vector<NewMessage>(static_cast<std::size_t>(count), message)));
  }
  // Reopens the queue on the row, after `damage` was done to it.
  std::string OpenWith(DocumentKind kind, const std::function<void(TenantDocument&)>& damage) {
    const DocumentQuery all{.kind = kind, .tenant_id = kQueueRows};
    auto rows = *store_->Read()->ListDocuments(all);
    EXPECT_THAT(rows, SizeIs(1));
    const TenantDocument intact = rows[0];
    TenantDocument damaged = intact;
    damage(damaged);
    EXPECT_TRUE(committer_.Put({{intact.key, std::nullopt}, damaged}));
    const auto queue = MessageQueue::Open({*store_, committer_, clock_, random_, courier_, {}, {}},
                                          MessageQueueOptions());
    EXPECT_TRUE(committer_.Put({{damaged.key, std::nullopt}, intact}));
    if (queue) return "opened";
    EXPECT_EQ(queue.error().code, ErrorCode::kStoreCorrupt);
    return queue.error().message;
  }
};

TEST_F(MessageQueueBoundsTest, TheDeliveriesInFlightAreShared) {
  Open({.deliveries_max = 10});
  for (const char* tenant : {"acme", "rival"}) {
    Join(tenant, "one");
    SendMany(tenant, 20, {.body = tenant});
  }
  EXPECT_THAT(Delivered(), SizeIs(9)) << "five of one tenant, four of the other";
  EXPECT_FALSE(queue_->Turn()) << "nothing more can be done";
  const std::string tenant = Head(0).tenant_id;
  End(0);
  EXPECT_THAT(Delivered(), ElementsAre(tenant));
}

TEST_F(MessageQueueBoundsTest, TheContentsOfTheDeliveriesInFlightAreLimited) {
  const MessageQueueOptions options{.delivery_bytes_max = 100};
  Open(options);
  Join("acme", "one");
  SendMany("acme", 10, {.headers = {{"name", "value"}}, .body = std::string(21, 'x')});
  EXPECT_THAT(Delivered(), SizeIs(2)) << "the last one may exceed the share of 50 bytes";
  courier_.taken.clear();
  seen_ = 0;
  queue_.reset();
  Open(options);
  EXPECT_THAT(Delivered(), SizeIs(2)) << "the sizes are read again";
  End(0);
  EXPECT_THAT(Delivered(), SizeIs(1));
}

TEST_F(MessageQueueBoundsTest, ATurnReadsAFewMegabytesOfContents) {
  for (const char* tenant : {"acme", "rival"}) Join(tenant, "one");
  SendMany("acme", 20, {.body = std::string(600 << 10, 'x')});
  SendMany("rival", 1, {.body = "theirs"});
  ASSERT_TRUE(queue_->Turn());
  ASSERT_GE(courier_.taken.size(), 3U);
  EXPECT_LE(courier_.taken.size(), 9U);
  EXPECT_EQ(courier_.taken[2].delivery.content.body, "theirs") << "after two of the other tenant";
}

TEST_F(MessageQueueBoundsTest, AReleasedGroupBecomesReadyInParts) {
  Join("acme", "one");
  held_ = {"run"};
  SendMany("acme", 1'000, {.group = "run"});
  EXPECT_THAT(Delivered(), IsEmpty());
  queue_->Unregister("acme", "one");
  EXPECT_THAT(Delivered(), IsEmpty());
  held_.clear();
  queue_->LookAgain();
  int turns = 1;
  while (queue_->Turn()) ++turns;
  EXPECT_GE(turns, 4);
  Join("acme", "two");
  EXPECT_THAT(Delivered(), SizeIs(1));
}

TEST_F(MessageQueueBoundsTest, SilentEndpointsAreDroppedInParts) {
  Open({.endpoint_lease = 0ms});
  for (int i = 0; i < 200; ++i) Join("acme", "app" + std::to_string(i));
  const auto registered = SteadyNow();
  while (SteadyNow() <= registered) std::this_thread::yield();
  EXPECT_TRUE(queue_->Turn());
  EXPECT_GE(queue_->CountAll().endpoints, 100U);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_EQ(queue_->CountAll().endpoints, 0U);
}

TEST_F(MessageQueueBoundsTest, TheQueueIsUsableWhileItIsFoundOutWhetherAGroupHasStalled) {
  std::size_t waiting = 99;
  // Would wait forever for the queue's lock if that were held.
  OpenWithWake([&] { waiting = queue_->CountAll().waiting; });
  Join("acme", "one");
  Send({.group = "run", .body = "a"});
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_EQ(waiting, 0U);
}

TEST_F(MessageQueueBoundsTest, AMessageThatEndsDuringAStopIsRemoved) {
  OpenWithWake([&] { queue_->Stop(); });
  Join("acme", "one");
  Send({.group = "run", .body = "a"});
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  seen_ = 0;
  Crash();
  EXPECT_THAT(Delivered(), IsEmpty());
}

TEST_F(MessageQueueBoundsTest, AGroupHasOneWakeMessage) {
  Join("acme", "one");
  stalled_ = {"run"};
  for (int i = 0; i < 8; ++i) {  // wake messages that do not help: the next one is due in minutes
    if (i == 0) Send({.group = "run", .body = "first"});
    EXPECT_THAT(Delivered(), SizeIs(1));
    End(courier_.taken.size() - 1);
    EXPECT_THAT(Delivered(), IsEmpty());
    if (i < 7) clock_.Advance(std::chrono::seconds(1LL << i));
  }
  for (int i = 0; i < 3; ++i) {
    Send({.group = "run", .body = "more"});
    EXPECT_THAT(Delivered(), ElementsAre("more"));
    End(courier_.taken.size() - 1);
    EXPECT_THAT(Delivered(), IsEmpty());
    EXPECT_EQ(queue_->CountAll().waiting, 1U);
  }
  clock_.Advance(1s);
  EXPECT_THAT(Delivered(), ElementsAre("wake")) << "it replaces the one that was due much later";
  seen_ = 0;
  Crash();
  EXPECT_THAT(Delivered(), ElementsAre("wake"));
}

TEST_F(MessageQueueBoundsTest, ADamagedRowIsReported) {
  const std::string id = Send({.body = "a"});
  const auto head = [&](const std::function<void(MessageHead&)>& change) {
    return [&change, &id](TenantDocument& row) {
      auto known = DecodeMessageHead(id, *row.text);
      change(*known);
      row.text = EncodeMessageHead(*known);
    };
  };
  EXPECT_EQ(OpenWith(DocumentKind::kMessage, [](TenantDocument&) {}), "opened");
  const auto damage = [&](const std::function<void(TenantDocument&)>& how) {
    return OpenWith(DocumentKind::kMessage, how);
  };
  EXPECT_THAT(damage(head([](MessageHead& known) { known.attempt = 0; })), HasSubstr(id));
  EXPECT_THAT(damage(head([](MessageHead& known) { known.topic.clear(); })), HasSubstr(id));
  EXPECT_THAT(damage(head([](MessageHead& known) { known.tenant_id = "rival"; })), HasSubstr(id));
  EXPECT_THAT(damage([](TenantDocument& row) { row.text->pop_back(); }), HasSubstr(id));
  EXPECT_THAT(damage([](TenantDocument& row) { row.key.name.pop_back(); }), HasSubstr("damaged"));
}

TEST_F(MessageQueueBoundsTest, AMessageThatIsStoredTwiceIsReported) {
  const std::string id = Send({.body = "a"});
  const auto rows =
      *store_->Read()->ListDocuments({.kind = DocumentKind::kMessage, .tenant_id = kQueueRows});
  ASSERT_THAT(rows, SizeIs(1));
  TenantDocument again = rows[0];
  again.key.name = id;  // as an earlier version named it
  ASSERT_TRUE(committer_.Put({again}));
  const auto queue = MessageQueue::Open({*store_, committer_, clock_, random_, courier_, {}, {}},
                                        MessageQueueOptions());
  ASSERT_FALSE(queue);
  EXPECT_THAT(queue.error().message, HasSubstr(id));
}

TEST_F(MessageQueueBoundsTest, ADamagedEndpointIsReported) {
  ASSERT_TRUE(queue_->Register(App("one")));
  const auto damage = [&](const std::function<void(Endpoint&)>& change) {
    return OpenWith(DocumentKind::kEndpoint, [&change](TenantDocument& row) {
      auto known = DecodeEndpoint(*row.text);
      change(*known);
      row.text = EncodeEndpoint(*known);
    });
  };
  EXPECT_EQ(damage([](Endpoint&) {}), "opened");
  for (const auto& change : std::initializer_list<std::function<void(Endpoint&)>>{
           [](Endpoint& known) { known.id = "two"; },
           [](Endpoint& known) { known.tenant_id = "rival"; },
           [](Endpoint& known) { known.concurrency = 0; },
           [](Endpoint& known) { known.routes.clear(); }}) {
    EXPECT_THAT(damage(change), HasSubstr("acme/one"));
  }
}

}  // namespace
}  // namespace everstep
