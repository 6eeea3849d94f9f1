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
  std::string directory;             // file sinks write here, each in its own subdirectory
  bool private_addresses = false;    // webhooks may target loopback and private address ranges
  std::vector<std::string> brokers;  // NATS servers that tenants may use
  std::uint32_t sinks_max = 64;      // over all tenants
  std::uint32_t tenant_share = SharedLimit::kPercent;  // percentage of sinks_max
  std::vector<SinkDefinition> server_sinks;            // from the settings; they see every tenant
};

// A sink's definition and current state.
struct SinkView {
  std::string tenant_id;  // empty for the server's own sinks
  SinkDefinition definition;
  std::string state;  // ACTIVE, FAILING, STALLED, PAUSED, DISABLED
  SinkProgress progress;
  std::uint64_t lag = 0;             // outbox changes after its position
  std::chrono::milliseconds age{0};  // of the oldest such change
};

// Selects dead letters; an empty member matches all. `ids` have the form "<runId>:<runSeq>".
struct LetterFilter {
  std::vector<std::string> ids;
  std::string run_id;
  std::string event_type;
  std::string reason;  // a substring of the reason
};

struct LetterPage {
  std::vector<DeadLetter> letters;
  std::string cursor;  // for the next page; empty if this is the last
};

std::string LetterId(const DeadLetter& letter);

// An undelivered event or a dead letter, with the messages that would be sent.
struct LetterView {
  DeadLetter letter;
  std::vector<Message> messages;
  std::string fault;  // why it cannot be sent
};

// The sinks of a server. Each runs on its own; none can delay another or the engine. Thread-safe.
// Calls act on behalf of the caller's tenant; `server` also grants access to the server's own
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

  // Starts all sinks. kInvalidArgument if two sinks in the settings have the same name.
  static Result<std::unique_ptr<EventBus>> Open(Parts parts, EventBusOptions options);
  ~EventBus();

  // Creates or changes a sink; a changed sink continues from its position. kSchemaValidationFailed;
  // kInvalidArgument if the sink limit is reached.
  struct PutAnswer {
    SinkView sink;
    bool existing = false;
  };
  Result<PutAnswer> Put(const Caller& caller, const std::string& sink_id, std::string_view text);
  // kSinkNotFound, as for all functions below.
  Result<SinkView> Get(const Caller& caller, const std::string& sink_id);
  std::vector<SinkView> List(const Caller& caller);
  // Deletes the sink, its position and its dead letters.
  Status Remove(const Caller& caller, const std::string& sink_id);
  // A paused sink keeps its position. Resuming also re-enables a sink that was disabled by a 410.
  Status SetPaused(const Caller& caller, const std::string& sink_id, bool paused);

  // The first `limit` events after the sink's position that are meant for it.
  Result<std::vector<LetterView>> Pending(const Caller& caller, const std::string& sink_id,
                                          std::size_t limit);
  Result<LetterPage> Letters(const Caller& caller, const std::string& sink_id,
                             const LetterFilter& filter, const std::string& cursor,
                             std::size_t limit);
  Result<LetterView> Letter(const Caller& caller, const std::string& sink_id,
                            const std::string& id);
  // Returns the number of selected letters, at most kLettersAtOnce. With `laterEvents: hold` all
  // letters of a run are replayed together, in order. Returns before they are sent. With `dry`
  // nothing changes.
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
    std::string fault;  // why it is not running
    std::unique_ptr<SinkRunner> runner;
    bool unreadable = false;  // the definition is damaged or missing: it can be put or removed only
  };
  using EntryPtr = std::shared_ptr<Entry>;

  // An exclusive claim to change one sink; excludes other changes of the same tenant's sinks.
  struct Change {
    std::shared_ptr<std::mutex> changes;
    std::unique_lock<std::mutex> lock;
    EntryPtr entry;
  };

  EventBus(Parts parts, EventBusOptions options);
  Status Load();
  Status LoadSink(const SinkMark& mark);
  // These four require mutex_ to be held.
  Result<EntryPtr> Find(const Caller& caller, const std::string& sink_id);
  std::shared_ptr<std::mutex> ChangesOf(const std::string& tenant_id);
  Status CheckRoom(const Caller& caller) const;
  SinkView ViewOf(const Entry& entry);
  // These require mutex_ not to be held: they may wait for the disk or for another host.
  Result<Change> BeginChange(const Caller& caller, const std::string& sink_id);
  void Halt(Entry& entry);
  std::unique_ptr<SinkRunner> MakeRunner(const Entry& entry, std::unique_ptr<Sink> sink,
                                         const SinkMark& mark);
  // Returns the sink's mark; the first time, creates it.
  Result<SinkMark> MarkOf(const Entry& entry);
  SinkMark FirstMark(const Entry& entry) const;
  void Start(Entry& entry);
  Result<std::unique_ptr<Sink>> MakeSink(const Entry& entry);
  static std::string Stored(const Entry& entry, bool paused);
  Status PutDefinition(const Entry& entry);
  Status MoveMark(const SinkMark& mark);
  Status Close(const SinkMark& mark);
  Result<std::string> KeepPayloadOf(const std::string& tenant_id, std::string_view payload);
  Result<std::vector<std::pair<RunId, EventSeq>>> Choose(const Entry& entry,
                                                         const LetterFilter& filter);

  const Parts parts_;
  const EventBusOptions options_;
  HttpClient http_;
  // Never held during a write. To change a sink, first lock its tenant's mutex in `changes_`; with
  // that lock alone the entry may be read.
  std::mutex mutex_;
  std::map<SinkKey, EntryPtr> sinks_;  // guarded by mutex_, as all below; so are the entries
  std::map<std::string, std::shared_ptr<std::mutex>> changes_;  // by tenant
  std::uint64_t making_ = 0;  // sinks being created, not in sinks_ yet
};

}  // namespace everstep
