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
  std::string id;     // the same whenever the event is sent: what receivers drop duplicates by
  std::string topic;  // where it is published to, if the sink has topics
  std::string content_type;
  HttpHeaders headers;  // beside those of the sink itself
  std::string body;
};

enum class Verdict : std::uint8_t {
  kDelivered,
  kRefused,      // the receiver has seen it and does not take it
  kUnavailable,  // the receiver could not be asked, or has not answered
  kGone,         // the receiver wants nothing any more
};

struct Outcome {
  Verdict verdict = Verdict::kUnavailable;
  std::string reason{};                      // of all but kDelivered; a sentence without secrets
  std::chrono::milliseconds retry_after{0};  // as the receiver asked; zero: it did not
};

// Where events go. One thread gives it batches; the sink keeps nothing beyond them.
class Sink {
 public:
  using Done = std::function<void(std::vector<Outcome>)>;

  // Ends what is under way: each `done` that was not called is called or dropped before it returns.
  virtual ~Sink() = default;
  // Are all messages of a batch taken or refused together? Then a batch may hold several events of
  // a run. Else each run has one message under way at a time, so that order is kept.
  virtual bool takes_whole_batches() const = 0;
  // Must not wait for the receiver. `done` is called once, from any thread, with an outcome for
  // each message. kDelivered means that the receiver has answered for it.
  virtual void Deliver(std::vector<Message> batch, Done done) = 0;
};

}  // namespace everstep
