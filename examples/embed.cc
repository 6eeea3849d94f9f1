// Embeds a run log in your own program: opens a log, appends, reads, follows, and takes a snapshot.
// Usage: example-embed DIRECTORY

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/log.h"

namespace {

// The events of one run. Everstep fills in everything that is left out.
constexpr std::string_view kEvents[] = {
    R"({"runId":"invoice-7","eventType":"RunStarted"})",
    R"({"runId":"invoice-7","eventType":"StepStarted","stepId":"render"})",
    R"({"runId":"invoice-7","eventType":"StepCompleted","stepId":"render",
        "payload":{"result":"7.pdf"}})",
    R"({"runId":"invoice-7","eventType":"HookCreated","correlationId":"sign",
        "payload":{"token":"sign-7"}})",
};
constexpr std::string_view kSigned =
    R"({"runId":"invoice-7","eventType":"HookReceived","correlationId":"sign",
        "eventId":"signed-7"})";

int Fail(const everstep::Error& error) {
  std::fprintf(stderr, "%s\n", everstep::ToString(error).c_str());
  return 1;
}

void Print(const std::vector<everstep::LogEvent>& events) {
  for (const everstep::LogEvent& event : events) std::printf("%s\n", event.json.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
    return 2;
  }
  everstep::LogOptions options;
  options.directory = arguments[1];
  const auto log = everstep::Log::Open(options);
  if (!log) return Fail(log.error());

  // Many events in few writes. On return, each event is durable or has its own error.
  for (const auto& appended : (*log)->AppendAll(everstep::Dialect::kNative, kEvents)) {
    if (!appended) return Fail(appended.error());
    std::printf("%s is event %llu%s\n", appended->event_id.c_str(),
                static_cast<unsigned long long>(appended->run_seq),
                appended->idempotent ? " (a duplicate)" : "");
  }

  // The same log in the dialect of Workflow DevKit.
  everstep::EventRequest request;
  request.run_id = "invoice-7";
  request.dialect = everstep::Dialect::kDevkit;
  const auto page = (*log)->Read(request);
  if (!page) return Fail(page.error());
  Print(page->events);

  // A subscription returns the events after those already read.
  const auto subscription = (*log)->Subscribe("invoice-7", page->next_after);
  if (!subscription) return Fail(subscription.error());
  const auto appended = (*log)->Append(everstep::Dialect::kNative, kSigned);
  if (!appended) return Fail(appended.error());
  const auto news = (*subscription)->Next(10, std::chrono::seconds(5));
  if (!news) return Fail(news.error());
  Print(*news);

  const auto snapshot = (*log)->Snapshot("invoice-7");
  if (!snapshot) return Fail(snapshot.error());
  std::printf("%s is %s: %llu of %llu steps done, open hooks: %llu\n", snapshot->run_id.c_str(),
              snapshot->status.c_str(),
              static_cast<unsigned long long>(snapshot->counters.succeeded),
              static_cast<unsigned long long>(snapshot->counters.steps),
              static_cast<unsigned long long>(snapshot->counters.hooks_active));
  return 0;
}
