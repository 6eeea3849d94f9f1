#include "bus/event_bus.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "bus/file_sink.h"
#include "bus/nats_sink.h"
#include "bus/webhook_sink.h"
#include "event/catalogue.h"
#include "wire/stored.h"

namespace everstep {
namespace {

// A sink as persisted in the store.
struct KeptSink {
  std::optional<SinkDefinition> definition;  // none for sinks from the settings
  bool paused = false;
};
template <typename F>
void Describe(F& f, KeptSink& kept) {
  f("definition", kept.definition);
  f("paused", kept.paused);
}

Error NotFound(const std::string& sink_id) {
  return {ErrorCode::kSinkNotFound, "there is no sink " + sink_id, {}};
}

}  // namespace

EventBus::EventBus(Parts parts, EventBusOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      http_(AddressPolicy{.allow_private = options_.private_addresses}) {}

EventBus::~EventBus() = default;

Result<std::unique_ptr<EventBus>> EventBus::Open(Parts parts, EventBusOptions options) {
  std::unique_ptr<EventBus> bus(new EventBus(std::move(parts), std::move(options)));
  if (const Status loaded = bus->Load(); !loaded) return loaded.error();
  return bus;
}

// Called before anyone else can access the bus.
Status EventBus::Load() {
  for (const SinkDefinition& definition : options_.server_sinks) {
    const SinkKey key{"", definition.sink_id};
    if (sinks_.contains(key)) {
      return Error{ErrorCode::kInvalidArgument,
                   "the settings have two sinks named " + definition.sink_id,
                   {}};
    }
    sinks_[key] = std::make_shared<Entry>(Entry{key, definition, false, {}, nullptr});
  }
  const auto marks = parts_.log.store().Read()->ListSinks();
  if (!marks) return marks.error();
  for (const SinkMark& mark : *marks) {
    if (const Status loaded = LoadSink(mark); !loaded) return loaded;
  }
  for (auto& [key, entry] : sinks_) {
    if (!entry->unreadable) Start(*entry);
  }
  return Ok();
}

Status EventBus::LoadSink(const SinkMark& mark) {
  const auto document = parts_.log.store().Read()->FindDocument(SinkDocumentKey(mark.key));
  if (!document) return document.error();
  const auto kept = *document
                        ? FromStored<KeptSink>(**document, "definition of sink " + mark.key.name)
                        : Result<KeptSink>(KeptSink{});
  const auto found = sinks_.find(mark.key);
  if (found != sinks_.end()) {
    if (!kept) return kept.error();
    found->second->paused = kept->paused;
    return Ok();
  }
  if (kept && kept->definition) {
    sinks_[mark.key] =
        std::make_shared<Entry>(Entry{mark.key, *kept->definition, kept->paused, {}, nullptr});
    return Ok();
  }
  if (mark.key.tenant_id.empty()) return Close(mark);
  // Its tenant can put it again or remove it. Until then its position holds back retention.
  const std::string why = kept ? "the stored definition of sink " + mark.key.name + " is missing"
                               : kept.error().message;
  SinkDefinition nothing;
  nothing.sink_id = mark.key.name;
  sinks_[mark.key] = std::make_shared<Entry>(Entry{
      mark.key, std::move(nothing), false, why + "; put it again, or remove it", nullptr, true});
  if (parts_.on_alert) {
    parts_.on_alert({"STORE_CORRUPT", "P1", "", why, mark.key.tenant_id});
  }
  return Ok();
}

Status EventBus::MoveMark(const SinkMark& mark) {
  return parts_.log.committer().CarryOut(SinkMove{mark, {}, {}});
}

// A server sink that is no longer in the settings may come back: it keeps its position, but
// retention no longer waits for it.
Status EventBus::Close(const SinkMark& mark) {
  if (!mark.open) return Ok();
  SinkMark closed = mark;
  closed.open = false;
  return MoveMark(closed);
}

std::string EventBus::Stored(const Entry& entry, bool paused) {
  KeptSink kept{entry.definition, paused};
  if (entry.key.tenant_id.empty()) kept.definition.reset();
  return ToWire(kept);
}

// A new sink starts now or at the oldest event.
SinkMark EventBus::FirstMark(const Entry& entry) const {
  const bool now = entry.definition.from == "now";
  return {entry.key, now ? parts_.log.store().LastPosition() : Position()};
}

Result<SinkMark> EventBus::MarkOf(const Entry& entry) {
  StateStore& store = parts_.log.store();
  const auto kept = store.Read()->FindSink(entry.key);
  if (!kept) return kept.error();
  if (*kept) return **kept;
  const SinkMark mark = FirstMark(entry);
  if (const Status moved = MoveMark(mark); !moved) return moved.error();
  return mark;
}

void EventBus::Start(Entry& entry) {
  std::unique_ptr<SinkRunner> runner;
  std::string fault;
  const auto mark = MarkOf(entry);
  if (!mark) {
    fault = mark.error().message;
  } else if (!entry.paused && mark->open) {
    auto sink = MakeSink(entry);
    if (sink) runner = MakeRunner(entry, *std::move(sink), *mark);
    if (!sink) fault = sink.error().message;
  }
  const std::lock_guard lock(mutex_);
  entry.fault = std::move(fault);
  entry.runner = std::move(runner);
}

std::unique_ptr<SinkRunner> EventBus::MakeRunner(const Entry& entry, std::unique_ptr<Sink> sink,
                                                 const SinkMark& mark) {
  return std::make_unique<SinkRunner>(
      SinkRunner::Parts{.log = parts_.log,
                        .clock = parts_.clock,
                        .random = parts_.random,
                        .keep_payload =
                            [this](const std::string& tenant_id, std::string_view payload) {
                              return KeepPayloadOf(tenant_id, payload);
                            },
                        .on_alert = parts_.on_alert},
      std::move(sink), mark, entry.definition);
}

Result<std::unique_ptr<Sink>> EventBus::MakeSink(const Entry& entry) {
  const SinkDefinition& definition = entry.definition;
  if (definition.kind == "nats") return NewNatsSink(definition);
  if (definition.kind == "file") {
    const SinkDefinition::File file = definition.file.value_or(SinkDefinition::File{});
    const std::string tenant = entry.key.tenant_id.empty() ? "_server" : entry.key.tenant_id;
    return OpenFileSink(file.directory.empty()
                            ? options_.directory + "/" + tenant + "/" + entry.key.name
                            : file.directory,
                        file);
  }
  const SecretOwner owner = entry.key.tenant_id.empty() ? SecretOwner::Server()
                                                        : SecretOwner::Tenant(entry.key.tenant_id);
  const auto read = [secrets = parts_.secrets, owner,
                     names = definition.webhook->secrets]() -> Result<std::vector<WebhookSecret>> {
    std::vector<WebhookSecret> all;
    for (const std::string& name : names) {
      const std::size_t colon = name.find(':');
      const bool stored = name.starts_with("secret:");
      const SecretRef ref{name, stored ? "file" : "env", name.substr(colon + 1), ""};
      const auto text = secrets->Get(owner, ref);
      if (!text) return text.error();
      auto secret = WebhookSecret::Parse(*text);
      if (!secret) {
        return Error{ErrorCode::kSecretUnavailable,
                     name + " is not a webhook secret (whsec_ and Base64)",
                     {}};
      }
      all.push_back(*std::move(secret));
    }
    return all;
  };
  return NewWebhookSink(definition, http_, parts_.clock, read);
}

// Registers the artifact for the tenant, which can then fetch it like one that it uploaded.
Result<std::string> EventBus::KeepPayloadOf(const std::string& tenant_id,
                                            std::string_view payload) {
  const auto artifact =
      parts_.artifacts.Write(payload, {.kind = "payload", .content_type = "application/json"});
  if (!artifact) return artifact.error();
  const Status noted =
      parts_.log.committer().Put({{{DocumentKind::kArtifact, tenant_id, artifact->sha256},
                                   ToJson(artifact->ToValue()),
                                   artifact->size_bytes}});
  if (!noted) return noted.error();
  return ToJson(artifact->InResult());
}

Result<EventBus::EntryPtr> EventBus::Find(const Caller& caller, const std::string& sink_id) {
  auto found = sinks_.find({caller.tenant_id, sink_id});
  if (found == sinks_.end() && caller.server) found = sinks_.find({"", sink_id});
  if (found == sinks_.end()) return NotFound(sink_id);
  return found->second;
}

SinkView EventBus::ViewOf(const Entry& entry) {
  SinkView view;
  view.definition = entry.definition;
  view.tenant_id = entry.key.tenant_id;
  StateStore& store = parts_.log.store();
  const auto reader = store.Read();
  const auto mark = reader->FindSink(entry.key);
  const bool open = mark && *mark && (*mark)->open;
  if (entry.runner) {
    view.progress = entry.runner->progress();
  } else if (mark && *mark) {
    view.progress.position = (*mark)->position;
    view.progress.dead_letters = (*mark)->dead_letters;
  }
  view.progress.last_failure = entry.fault.empty() ? view.progress.last_failure : entry.fault;
  view.state = entry.paused                                           ? "PAUSED"
               : view.progress.gone || (!open && entry.fault.empty()) ? "DISABLED"
               : view.progress.stalled                                ? "STALLED"
               : view.progress.failing || !entry.fault.empty()        ? "FAILING"
                                                                      : "ACTIVE";
  const std::uint64_t last = store.LastPosition().value();
  const std::uint64_t at = view.progress.position.value();
  const auto next = reader->ReadOutbox(view.progress.position, 1);
  if (last > at && next && !next->empty()) {
    view.lag = last - at;
    const auto age = parts_.clock.Now() - next->front().committed_at;
    view.age = std::max(std::chrono::milliseconds(0),
                        std::chrono::duration_cast<std::chrono::milliseconds>(age));
  }
  return view;
}

Result<SinkView> EventBus::Get(const Caller& caller, const std::string& sink_id) {
  const std::lock_guard lock(mutex_);
  const auto entry = Find(caller, sink_id);
  if (!entry) return entry.error();
  return ViewOf(**entry);
}

std::vector<SinkView> EventBus::List(const Caller& caller) {
  const std::lock_guard lock(mutex_);
  std::vector<SinkView> views;
  for (const auto& [key, entry] : sinks_) {
    const bool theirs = key.tenant_id == caller.tenant_id || caller.tenant_id.empty();
    if (theirs || (caller.server && key.tenant_id.empty())) views.push_back(ViewOf(*entry));
  }
  return views;
}

}  // namespace everstep
