#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cbor.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/ulid.h"
#include "engine/embedded_log.h"
#include "everstep/engine.h"
#include "queue/message_queue.h"
#include "queue/run_streams.h"
#include "serve/api_call.h"
#include "serve/devkit/world_order.h"
#include "serve/devkit/world_reader.h"
#include "serve/tenant_storage.h"

namespace everstep {

// Implements Workflow DevKit's World interface for applications: takes a batch of calls and returns
// a batch of answers, both in CBOR (docs/devkit.md). Events go to the append authority, messages to
// the queue, chunks to the streams; the service itself holds no state that matters after a call.
class WorldService {
 public:
  struct Parts {
    EmbeddedLog& log;
    MessageQueue& queue;
    RunStreams& streams;
    Clock& clock;
    Random& random;
    TenantStorage& storage;
    // Runs work that answers a call later, on a thread of the call's party.
    std::function<void(std::string_view party, std::function<void()> work)> later;
    // Whether applications that call from this machine may be called over loopback.
    bool loopback_endpoints = true;
  };
  explicit WorldService(Parts parts) : parts_(parts), ulids_(parts.clock, parts.random) {}

  // May wait for the store. Answers the call before returning, or later if it waits for a stream.
  void Handle(const CallPtr& call);

 private:
  struct One {
    const CborItem* args = nullptr;
    std::string answer;                 // CBOR
    std::optional<WorldError> error;    // set instead of an answer
    std::unique_ptr<WorldOrder> order;  // only for events.create
    std::size_t rows = 0;               // read for the answer
  };
  // What the answers to a request have used.
  struct Used {
    std::size_t bytes = 0;
    std::size_t rows = 0;

    void Add(const One& one) {
      bytes += one.answer.size();
      rows += one.rows;
    }
  };

  // The newest version of the protocol that the application supports.
  static std::uint32_t SpecIn(const CborItem& request);
  static WorldOutcome CheckRoom(ApiCall& call, const Used& used);
  static void RefuseRegistrations(std::vector<One>& calls);
  void CreateAll(ApiCall& call, const WorldCaller& caller, std::vector<One>& calls, Used& used);
  // Submits the orders and answers them, except those that are outdated.
  void Create(ApiCall& call, const WorldCaller& caller, std::span<One* const> asked, Used& used);
  static WorldOutcome Created(One& one, const Placed& placed, const std::string& tenant_id,
                              const Used& used, WorldReader& world);
  // Attribute changes are checked against one read of the attributes per run.
  using AttributeViews = std::map<RunId, AttributeView>;
  void LookAtAttributes(ApiCall& call, const WorldCaller& caller, std::vector<One*>& asked,
                        AttributeViews& views, Used& used);
  WorldOutcome LookAtAttributes(const WorldCaller& caller, One& one, AttributeViews& views,
                                Used& used);
  void SendAll(const ApiCall& call, std::vector<One>& calls);
  void Answer(const ApiCall& call, std::uint32_t spec, One& one);
  static void WriteAnswer(const One& one, std::string& body);
  WorldOutcome Dispatch(const ApiCall& call, const CborItem& args, std::uint32_t spec,
                        CborWriter& cbor, std::size_t& rows);
  WorldOutcome Register(const ApiCall& call, const CborItem& args, CborWriter& cbor);
  WorldOutcome ReadStream(const ApiCall& call, const CborItem& args, CborWriter& cbor);
  WorldOutcome ListStreams(const ApiCall& call, const CborItem& args, CborWriter& cbor);
  void WriteStreams(const ApiCall& call, std::vector<One>& calls);
  void AnswerAlone(const CallPtr& call, const CborItem& request);
  bool WaitsForStream(const CallPtr& call, const std::shared_ptr<CborItem>& request);
  std::string NewRunId();

  const Parts parts_;
  std::mutex mutex_;
  UlidGenerator ulids_;  // guarded by mutex_
  AttributeCache attributes_;
};

}  // namespace everstep
