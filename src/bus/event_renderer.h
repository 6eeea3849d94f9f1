#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bus/delivery_queue.h"
#include "bus/sink_definition.h"
#include "bus/topic_template.h"
#include "event/dialect.h"
#include "flow/template.h"

namespace everstep {

// Stores a payload that is too large to send. Returns the JSON to send in its place.
using KeepPayload =
    std::function<Result<std::string>(const std::string& tenant_id, std::string_view payload)>;

// Selects the events that are meant for a sink and renders them as messages. Depends only on the
// event and the definition. Not thread-safe.
class EventRenderer {
 public:
  // `tenant_id` owns the sink; empty for the server's own sinks.
  EventRenderer(const SinkDefinition& sink, std::string tenant_id, KeepPayload keep);

  // Fills `out` except for its outbox position. Returns false if the event is not for this sink.
  bool Render(const StoredRun& run, const Event& event, QueuedEvent& out) const;

 private:
  bool IsWanted(const StoredRun& run, const Event& event) const;
  Result<bool> Passes(const StoredRun& run, const Event& event) const;
  Status Prepare(const StoredRun& run, Event& event) const;
  Message MessageOf(const StoredRun& run, const Event& event, std::string document,
                    std::size_t index) const;

  const std::string tenant_id_;
  const KeepPayload keep_;
  std::set<std::string, std::less<>> tenants_;
  std::set<std::string, std::less<>> plans_;
  std::set<EventType> types_;  // matching both the types and the entities of the filter
  bool all_types_ = true;
  Template when_;
  Dialect dialect_;
  std::string cloud_events_;
  bool with_topic_headers_;
  TopicTemplate topic_;
  std::vector<std::vector<std::string>> payload_pointers_;
  std::vector<std::vector<std::string>> attribute_pointers_;
  bool hide_error_ = false;
  bool hide_token_ = false;
  std::size_t payload_bytes_max_;
};

}  // namespace everstep
