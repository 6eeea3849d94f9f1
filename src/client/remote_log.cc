#include "client/remote_log.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/timestamp.h"
#include "base/value.h"
#include "wire/api_types.h"
#include "wire/engine_types.h"

namespace everstep {
namespace {

Error NotRemote(const char* operation) {
  return {ErrorCode::kInvalidArgument,
          std::string(operation) + " is not available through the API; run it on the server",
          {}};
}

// Polls: often while events arrive, less often while none do.
class PolledSubscription final : public Subscription {
 public:
  PolledSubscription(RemoteLog& log, EventRequest request)
      : log_(log), request_(std::move(request)) {}

  Result<std::vector<LogEvent>> Next(std::size_t limit, std::chrono::milliseconds wait) override {
    constexpr std::chrono::milliseconds kOften{50};
    constexpr std::chrono::milliseconds kSeldom{500};
    auto pause = kOften;
    request_.limit = limit;
    while (true) {
      auto page = log_.Read(request_);
      if (!page) return std::move(page).error();
      request_.after = std::max(request_.after, page->next_after);
      if (!page->events.empty()) return std::move(page->events);
      std::unique_lock lock(mutex_);
      const auto step = std::min(pause, wait);
      if (closed_ || step.count() <= 0) return std::vector<LogEvent>();
      changed_.wait_for(lock, step, [this] { return closed_; });
      wait -= step;
      pause = std::min(2 * pause, kSeldom);
    }
  }
  std::uint64_t position() const override { return request_.after; }
  Result<ProjectionLag> Lag() override { return ProjectionLag{}; }
  void Close() override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  RemoteLog& log_;
  EventRequest request_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
};

// Limits of one request; an event larger than kBatchBytes is sent alone.
constexpr std::size_t kBatchEvents = 10'000;
constexpr std::size_t kBatchBytes = 16 << 20;

std::vector<Result<Appended>> AppendBatch(ApiClient& api, const std::string& path, std::string body,
                                          std::size_t count) {
  std::vector<Result<Appended>> answers;
  auto all = api.Post<AppendAnswers>({.path = path, .body = std::move(body)});
  if (all && all->results.size() == count) {
    for (AppendAnswer& answer : all->results) answers.push_back(std::move(answer).ToResult());
    return answers;
  }
  const Error error =
      all ? Error{ErrorCode::kServerUnavailable, "the server sent a wrong number of results", {}}
          : all.error();
  answers.assign(count, error);
  return answers;
}

std::string RunPath(std::string_view run_id) { return "/v1/runs/" + EncodeForUrl(run_id); }

}  // namespace

Result<Appended> RemoteLog::Append(Dialect dialect, std::string_view event,
                                   const AppendDefaults& defaults) {
  return std::move(AppendAll(dialect, std::span(&event, 1), defaults).front());
}

std::vector<Result<Appended>> RemoteLog::AppendAll(Dialect dialect,
                                                   std::span<const std::string_view> events,
                                                   const AppendDefaults& defaults) {
  QueryWriter query;
  query.Add("dialect", Name(dialect));
  query.Add("projectId", defaults.project_id);
  query.Add("environmentId", defaults.environment_id);
  query.Add("planId", defaults.plan_id);
  query.Add("planVersion", defaults.plan_version);
  const std::string path = "/v1/events" + query.text();
  std::vector<Result<Appended>> answers;
  answers.reserve(events.size());
  std::vector<std::size_t> sent;  // indexes of the answers that wait for the current batch
  std::string body;
  const auto send = [&] {
    if (sent.empty()) return;
    auto appended = AppendBatch(api_, path, "[" + body + "]", sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) answers[sent[i]] = std::move(appended[i]);
    sent.clear();
    body.clear();
  };
  for (const std::string_view event : events) {
    // An event that is not valid JSON would invalidate the whole list, or count as several events.
    const auto read = ValueFromJson(event);
    answers.emplace_back(read ? Error{ErrorCode::kIndeterminate, {}, {}} : read.error());
    if (!read) continue;
    if (sent.size() == kBatchEvents || body.size() + event.size() > kBatchBytes) send();
    if (!body.empty()) body += ',';
    body.append(event);
    sent.push_back(answers.size() - 1);
  }
  send();
  return answers;
}

Result<EventPage> RemoteLog::Read(const EventRequest& request) {
  QueryWriter query;
  query.Add("dialect", Name(request.dialect));
  query.Add("after", request.after);
  query.Add("limit", request.limit);
  query.Add("type", request.event_type);
  if (request.run_id.empty()) return api_.Get<EventPage>("/v1/events" + query.text());
  if (request.until != UINT64_MAX) query.Add("until", request.until);
  query.Add("entityKind", request.entity_kind);
  query.Add("entityId", request.entity_id);
  return api_.Get<EventPage>(RunPath(request.run_id) + "/events" + query.text());
}

Result<std::vector<LogEvent>> RemoteLog::ReadSince(SystemTime since, std::string_view,
                                                   Dialect dialect, std::size_t limit) {
  QueryWriter query;
  query.Add("dialect", Name(dialect));
  query.Add("since", FormatTimestamp(since));
  query.Add("limit", limit);
  auto page = api_.Get<EventPage>("/v1/events" + query.text());
  if (!page) return std::move(page).error();
  return std::move(page->events);
}

Result<RunSnapshot> RemoteLog::Snapshot(std::string_view run_id, std::optional<std::uint64_t> at) {
  QueryWriter query;
  if (at) query.Add("at", *at);
  return api_.Get<RunSnapshot>(RunPath(run_id) + "/snapshot" + query.text());
}

Result<RunList> RemoteLog::Runs(const RunFilter& filter) {
  QueryWriter query;
  query.Add("projectId", filter.project_id);
  query.Add("environmentId", filter.environment_id);
  query.Add("planId", filter.plan_id);
  query.Add("planVersion", filter.plan_version);
  query.Add("runIdPrefix", filter.run_id_prefix);
  query.Add("errorCode", filter.error_code);
  query.Add("status", filter.status);
  if (filter.created_from) query.Add("createdFrom", FormatTimestamp(*filter.created_from));
  if (filter.created_until) query.Add("createdUntil", FormatTimestamp(*filter.created_until));
  if (filter.updated_from) query.Add("updatedFrom", FormatTimestamp(*filter.updated_from));
  if (filter.updated_until) query.Add("updatedUntil", FormatTimestamp(*filter.updated_until));
  query.Add("cursor", filter.cursor);
  query.Add("limit", filter.limit);
  return api_.Get<RunList>("/v1/runs" + query.text());
}

Result<std::optional<std::string>> RemoteLog::RunOfHook(std::string_view, std::string_view token) {
  const auto hook = api_.Get<HookView>("/v1/hooks/" + EncodeForUrl(token));
  if (hook) return std::optional(hook->run_id);
  if (hook.error().code == ErrorCode::kHookNotFound) return std::optional<std::string>();
  return hook.error();
}

Result<std::unique_ptr<Subscription>> RemoteLog::Subscribe(std::string_view run_id,
                                                           std::uint64_t after, Dialect dialect) {
  EventRequest request;
  request.run_id = run_id;
  request.after = after;
  request.dialect = dialect;
  return std::unique_ptr<Subscription>(std::make_unique<PolledSubscription>(*this, request));
}

LogHealth RemoteLog::Health(std::string_view) {
  auto counts = api_.Get<RunCounts>("/v1/counts");
  LogHealth health;
  if (!counts) {
    health.stopped = true;
    return health;
  }
  health.events = counts->events;
  std::copy(counts->runs.begin(), counts->runs.end(), std::begin(health.runs_by_status));
  return health;
}

Result<VerifyReport> RemoteLog::Verify(const VerifyProgress&) { return NotRemote("verify"); }
Status RemoteLog::Backup(const std::string&) { return NotRemote("backup"); }
Status RemoteLog::Compact() { return NotRemote("compact"); }
Result<std::uint64_t> RemoteLog::ApplyRetention(const RetentionPolicy&) {
  return NotRemote("retention");
}

}  // namespace everstep
