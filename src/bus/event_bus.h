#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shared_limit.h"
#include "bus/sink_definition.h"
#include "bus/sink_runner.h"
#include "engine/embedded_log.h"
#include "net/http_client.h"
#include "work/artifact_store.h"
#include "work/secrets.h"

namespace everstep {

struct EventBusOptions {
  std::string directory;             // where file sinks write, each in a folder of its own
  bool private_addresses = false;    // webhooks may go to loopback and private ranges
  std::vector<std::string> brokers;  // NATS servers that tenants may name
  std::uint32_t sinks_max = 64;      // of all tenants
  std::uint32_t tenant_share = SharedLimit::kPercent;  // of sinks_max
  std::vector<SinkDefinition> server_sinks;            // of the settings; they see every tenant
};

// A sink as people see it.
struct SinkView {
  std::string tenant_id;  // empty: the server's
  SinkDefinition definition;
  std::string state;  // ACTIVE, FAILING, STALLED, PAUSED, DISABLED
  SinkProgress progress;
  std::uint64_t lag = 0;             // changes in the outbox behind its position
  std::chrono::milliseconds age{0};  // of the oldest of them
};

// Which dead letters; what is empty does not choose. `ids`: "<runId>:<runSeq>".
struct LetterFilter {
  std::vector<std::string> ids;
  std::string run_id;
  std::string event_type;
  std::string reason;  // part of it
};

struct LetterPage {
  std::vector<DeadLetter> letters;
  std::string cursor;  // of the next page; empty: no more
};

std::string LetterId(const DeadLetter& letter);

// An event that a sink has not had yet, or a dead letter, with what would be sent.
struct LetterView {
  DeadLetter letter;
  std::vector<Message> messages;
  std::string fault;  // why it cannot be sent
};

// The sinks of a server: each runs by itself and none can hold up another or the engine.
// Thread-safe. Functions take the tenant that asks; `server` lets them touch the server's own
// sinks.
class EventBus {
 public:
  struct Parts {
    EmbeddedLog& log;
    const ArtifactStore& artifacts;
    std::shared_ptr<const Secrets> secrets;
    Clock& clock;
    Random& random;
    std::function<void(const Alert&)> on_alert;
  };
  struct Caller {
    std::string tenant_id;
    bool server = false;
  };

  // Starts all sinks. kInvalidArgument: two sinks of the settings have one name.
  static Result<std::unique_ptr<EventBus>> Open(Parts parts, EventBusOptions options);
  ~EventBus();

  // Makes a sink, or changes one, which goes on where it stands. kSchemaValidationFailed;
  // kInvalidArgument: there are too many.
  struct PutAnswer {
    SinkView sink;
    bool existing = false;
  };
  Result<PutAnswer> Put(const Caller& caller, const std::string& sink_id, std::string_view text);
  // kSinkNotFound, as all below.
  Result<SinkView> Get(const Caller& caller, const std::string& sink_id);
  std::vector<SinkView> List(const Caller& caller);
  // Forgets it, how far it had come, and its dead letters.
  Status Remove(const Caller& caller, const std::string& sink_id);
  // A sink that is paused keeps its place; going on also wakes one that 410 had disabled.
  Status SetPaused(const Caller& caller, const std::string& sink_id, bool paused);

  // Events that are for the sink and behind its position, the first of them.
  Result<std::vector<LetterView>> Pending(const Caller& caller, const std::string& sink_id,
                                          std::size_t limit);
  Result<LetterPage> Letters(const Caller& caller, const std::string& sink_id,
                             const LetterFilter& filter, const std::string& cursor,
                             std::size_t limit);
  Result<LetterView> Letter(const Caller& caller, const std::string& sink_id,
                            const std::string& id);
  // Answers how many letters are chosen; at most kLettersAtOnce. With `laterEvents: hold` a run's
  // letters go together, in order. Returns before they are sent. With `dry` nothing is done.
  static constexpr std::size_t kLettersAtOnce = 100'000;
  Result<std::uint64_t> ReplayLetters(const Caller& caller, const std::string& sink_id,
                                      const LetterFilter& filter, double per_second, bool dry);
  Result<std::uint64_t> PurgeLetters(const Caller& caller, const std::string& sink_id,
                                     const LetterFilter& filter, bool dry);

 private:
  struct Entry {
    SinkKey key;
    SinkDefinition definition;
    bool paused = false;
    std::string fault;  // why it does not run
    std::unique_ptr<SinkRunner> runner;
  };
  using EntryPtr = std::shared_ptr<Entry>;

  // A change of one sink under way: no other change of its tenant's sinks is.
  struct Change {
    std::shared_ptr<std::mutex> changes;
    std::unique_lock<std::mutex> lock;
    EntryPtr entry;
  };

  EventBus(Parts parts, EventBusOptions options);
  Status Load();
  // mutex_ held, as for the next three.
  Result<EntryPtr> Find(const Caller& caller, const std::string& sink_id);
  std::shared_ptr<std::mutex> ChangesOf(const std::string& tenant_id);
  Status CheckRoom(const Caller& caller) const;
  SinkView ViewOf(const Entry& entry);
  // Not held: these may wait for the disk or for another host.
  Result<Change> BeginChange(const Caller& caller, const std::string& sink_id);
  void Halt(Entry& entry);
  std::unique_ptr<SinkRunner> MakeRunner(const Entry& entry, std::unique_ptr<Sink> sink,
                                         const SinkMark& mark);
  Result<SinkMark> MarkOf(const Entry& entry);
  void Start(Entry& entry);
  Result<std::unique_ptr<Sink>> MakeSink(const Entry& entry);
  Status Keep(const Entry& entry, bool paused);
  Status MoveMark(const SinkMark& mark);
  Status Forget(const SinkMark& mark);
  Result<std::string> KeepPayloadOf(const std::string& tenant_id, std::string_view payload);
  Result<std::vector<std::pair<RunId, EventSeq>>> Choose(const Entry& entry,
                                                         const LetterFilter& filter);

  const Parts parts_;
  const EventBusOptions options_;
  HttpClient http_;
  // Never held during a write. Who changes a sink holds its tenant's mutex of `changes_` first, and
  // may read the entry under that alone.
  std::mutex mutex_;
  std::map<SinkKey, EntryPtr> sinks_;  // guarded by mutex_, as all below; the entries too
  std::map<std::string, std::shared_ptr<std::mutex>> changes_;  // by tenant
  std::uint64_t making_ = 0;                                    // sinks that are not in sinks_ yet
};

}  // namespace everstep
