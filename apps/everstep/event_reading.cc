#include "event_reading.h"

#include <chrono>
#include <string>
#include <string_view>

namespace everstep::cli {
namespace {

constexpr std::chrono::milliseconds kPollEvery{50};
constexpr std::string_view kRunEnds[] = {"RunCompleted", "RunFailed", "RunCancelled"};

}  // namespace

EventReading::EventReading(const Range& range, OutputForm form, Log& log, Output& out)
    : log_(log),
      out_(out),
      printer_(form, range.request.dialect == Dialect::kNative, out),
      request_(range.request),
      left_(range.limit),
      follow_(range.follow),
      until_end_(range.until_end) {}

Result<bool> EventReading::HasEnded() {
  for (const std::string_view type : kRunEnds) {
    EventRequest request;
    request.run_id = request_.run_id;
    request.event_type = type;
    request.limit = 1;
    const auto page = log_.Read(request);
    if (!page) return page.error();
    if (!page->events.empty()) return true;
  }
  return false;
}

Status EventReading::Run() {
  while (true) {
    // Check before reading, so that no event before the end of the run is missed.
    const auto ended = until_end_ ? HasEnded() : Result<bool>(!follow_);
    if (!ended) return ended.error();
    Status read = ReadOn();
    if (!read) return read;
    if (*ended || left_ == 0 || !out_.is_open()) break;
    if (request_.after >= request_.until) break;
    printer_.Flush();
    if (request_.after != remembered_) {
      remembered_ = request_.after;
      out_.Remember("{\"after\":" + std::to_string(remembered_) + "}");
    }
    if (!out_.Wait(kPollEvery)) break;
    Status refreshed = log_.Refresh();
    if (!refreshed) return refreshed;
  }
  printer_.Finish();
  return Ok();
}

Status EventReading::ReadOn() {
  bool more = true;
  while (more && left_ > 0 && out_.is_open() && out_.interrupts() == 0) {
    auto page = log_.Read(request_);
    if (!page) return page.error();
    for (const LogEvent& event : page->events) {
      if (left_ == 0) break;
      --left_;
      printer_.Print(event);
    }
    request_.after = page->next_after;
    more = page->more;
  }
  return Ok();
}

}  // namespace everstep::cli
