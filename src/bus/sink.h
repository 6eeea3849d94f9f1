#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "net/http_message.h"

namespace everstep {

// An event as a sink sends it.
struct Message {
  std::string id;     // identical for every attempt; receivers use it to drop duplicates
  std::string topic;  // where it is published, for sinks that have topics
  std::string content_type;
  HttpHeaders headers;  // in addition to those of the sink itself
  std::string body;
};

enum class Verdict : std::uint8_t {
  kDelivered,
  kRefused,      // the receiver processed it and rejected it
  kUnavailable,  // the receiver is unreachable or did not answer
  kGone,         // the receiver wants no more events
};

struct Outcome {
  Verdict verdict = Verdict::kUnavailable;
  std::string reason{};                      // unless delivered; a sentence without secrets
  std::chrono::milliseconds retry_after{0};  // requested by the receiver; zero if it did not
};

// A destination for events. One thread passes it batches; the sink keeps no state beyond them.
class Sink {
 public:
  using Done = std::function<void(std::vector<Outcome>)>;

  // Ends deliveries in flight: on return every pending `done` was called or dropped.
  virtual ~Sink() = default;
  // Whether all messages of a batch are accepted or refused together. If so, a batch may hold
  // several events of a run; otherwise each run has at most one message in flight, to keep order.
  virtual bool takes_whole_batches() const = 0;
  // Must not block on the receiver. `done` is called once, from any thread, with one outcome per
  // message. kDelivered means that the receiver has acknowledged it.
  virtual void Deliver(std::vector<Message> batch, Done done) = 0;
};

}  // namespace everstep
