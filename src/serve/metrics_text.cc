#include "serve/metrics_text.h"

#include <cstdint>
#include <string_view>

#include "base/environment.h"
#include "serve/api.h"

namespace everstep {
namespace {

class Exposition {
 public:
  void Family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  void Sample(double value, std::string_view labels = {}) {
    text_.append(name_);
    if (!labels.empty()) text_.append("{").append(labels).append("}");
    text_.append(" ").append(Number(value)).append("\n");
  }
  void Counter(std::string_view name, std::string_view help, double value) {
    Family(name, "counter", help);
    Sample(value);
  }
  void Gauge(std::string_view name, std::string_view help, double value) {
    Family(name, "gauge", help);
    Sample(value);
  }
  void Summary(std::string_view name, std::string_view help, double sum, double count) {
    Family(name, "summary", help);
    text_.append(name).append("_sum ").append(Number(sum)).append("\n");
    text_.append(name).append("_count ").append(Number(count)).append("\n");
  }
  // Values are counted in multiples of `unit`.
  void Histogram(std::string_view name, std::string_view help, const HistogramCounts& counts,
                 double unit) {
    Family(name, "histogram", help);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts.counts.size(); ++i) {
      below += counts.counts[i];
      const bool last = i == counts.bounds.size();
      const std::string bound =
          last ? "+Inf" : Number(static_cast<double>(counts.bounds[i]) * unit);
      text_.append(name).append("_bucket{le=\"").append(bound).append("\"} ");
      text_.append(std::to_string(below)).append("\n");
    }
    text_.append(name).append("_sum ");
    text_.append(Number(static_cast<double>(counts.sum) * unit)).append("\n");
    text_.append(name).append("_count ").append(std::to_string(counts.count)).append("\n");
  }
  std::string Take() { return std::move(text_); }

 private:
  static std::string Number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) == value) return std::to_string(whole);
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text;
  }

  std::string_view name_;
  std::string text_;
};

constexpr double kMicro = 1e-6;

void EngineFamilies(const EngineMetrics& metrics, Exposition& out) {
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  out.Counter("everstep_runs_started_total", "Runs started.", number(metrics.runs_started));
  out.Counter("everstep_runs_ended_total", "Runs ended.", number(metrics.runs_ended));
  out.Gauge("everstep_runs_in_memory", "Runs with work in progress.",
            number(metrics.runs_in_memory));
  out.Gauge("everstep_run_bytes", "Memory of runs with work in progress, without their plans.",
            number(metrics.run_bytes));
  out.Counter("everstep_steps_started_total", "Deliveries of steps.",
              number(metrics.steps_started));
  out.Counter("everstep_steps_ended_total", "Outcomes of steps.", number(metrics.steps_ended));
  out.Counter("everstep_steps_redelivered_total", "Deliveries after the first of an attempt.",
              number(metrics.steps_redelivered));
  out.Summary("everstep_timer_lateness_seconds", "Delay of timers after their due time.",
              number(metrics.timer_lateness_us_sum) * kMicro, number(metrics.timers_fired));
  out.Gauge("everstep_timer_lateness_max_seconds", "The longest delay of a timer.",
            number(metrics.timer_lateness_us_max) * kMicro);
  out.Gauge("everstep_run_queue_pending", "Runs waiting for admission.",
            number(metrics.run_queue_pending));
  out.Gauge("everstep_run_queue_oldest_seconds", "How long the first run in the queue has waited.",
            number(metrics.run_queue_oldest_us) * kMicro);
  out.Counter("everstep_run_queue_start_failures_total", "Admitted runs that did not start.",
              number(metrics.run_queue_start_failures));
  out.Counter("everstep_run_queue_leases_expired_total",
              "Admissions that were not settled in time.",
              number(metrics.run_queue_leases_expired));
  out.Gauge("everstep_commit_duration_max_seconds", "The longest durable write of a run.",
            number(metrics.state_store_write_latency_us_max) * kMicro);
  out.Counter("everstep_commit_timeouts_total", "Durable writes over their budget.",
              number(metrics.state_store_write_timeouts));
  out.Counter("everstep_events_buffered_total", "Steps begun before their start was durable.",
              number(metrics.state_store_buffered_events));
}

void WorkFamilies(Api& api, Exposition& out) {
  const QueueView tasks = api.work().Totals();
  out.Gauge("everstep_workers", "Registered workers.", double(tasks.workers));
  out.Gauge("everstep_task_queue_waiting", "Tasks waiting for a worker.",
            static_cast<double>(tasks.waiting));
  out.Gauge("everstep_task_queue_held", "Tasks held by workers.", static_cast<double>(tasks.held));
  out.Gauge("everstep_task_queue_oldest_seconds", "How long the first task has waited.",
            static_cast<double>(tasks.oldest.count()) * 1e-3);
  out.Counter("everstep_worker_leases_lost_total", "Tasks whose worker stopped responding.",
              static_cast<double>(api.work().leases_lost()));
}

void HttpFamilies(Api& api, Exposition& out) {
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  out.Family("everstep_http_requests_total", "counter", "Responses by operation and status class.");
  for (const Route& route : Routes()) {
    for (int hundreds = 1; hundreds <= 5; ++hundreds) {
      const std::uint64_t count = api.counts().Get(route, hundreds);
      if (count == 0) continue;
      out.Sample(number(count), "operation=\"" + std::string(route.operation) + "\",status=\"" +
                                    std::to_string(hundreds) + "xx\"");
    }
  }
  const HttpServerMetrics http = api.HttpMetrics();
  out.Gauge("everstep_http_connections", "Open connections.", number(http.connections_open));
  out.Counter("everstep_http_connections_total", "Connections accepted.",
              number(http.connections_total));
  out.Counter("everstep_http_connections_refused_total", "Connections refused over the limit.",
              number(http.connections_refused));
  out.Gauge("everstep_http_requests_in_flight", "Requests not yet answered.",
            number(http.requests_in_flight));
  out.Counter("everstep_http_requests_malformed_total", "Requests that could not be read.",
              number(http.requests_malformed));
  out.Counter("everstep_http_timeouts_total", "Clients that were too slow.", number(http.timeouts));
  out.Gauge("everstep_http_streams", "Open streams.", number(http.streams_open));
  out.Counter("everstep_http_streams_cut_off_total", "Streams whose reader was too slow.",
              number(http.streams_cut_off));
  out.Counter("everstep_http_received_bytes_total", "Bytes received.", number(http.bytes_received));
  out.Counter("everstep_http_sent_bytes_total", "Bytes sent.", number(http.bytes_sent));
  out.Gauge("everstep_http_buffered_bytes", "Buffered bodies and responses.",
            number(http.buffered_bytes));
}

// The label is bounded: sinks are named by whoever configures them, and there are few.
void SinkFamilies(Api& api, const std::string& tenant_id, Exposition& out) {
  const std::vector<SinkView> sinks =
      api.bus().List({.tenant_id = tenant_id, .server = tenant_id.empty()});
  const auto family = [&](std::string_view name, std::string_view type, std::string_view help,
                          auto value) {
    out.Family(name, type, help);
    for (const SinkView& sink : sinks) {
      out.Sample(static_cast<double>(value(sink)),
                 "tenant=\"" + sink.tenant_id + "\",sink=\"" + sink.definition.sink_id + "\"");
    }
  };
  family("everstep_sink_delivered_total", "counter", "Events delivered since the sink started.",
         [](const SinkView& sink) { return sink.progress.delivered; });
  family("everstep_sink_failures_total", "counter", "Batches that failed.",
         [](const SinkView& sink) { return sink.progress.failures; });
  family("everstep_sink_lag", "gauge", "Outbox changes after the sink's position.",
         [](const SinkView& sink) { return sink.lag; });
  family("everstep_sink_age_seconds", "gauge", "Age of the oldest change not yet delivered.",
         [](const SinkView& sink) { return static_cast<double>(sink.age.count()) / 1e3; });
  family("everstep_sink_dead_letters", "gauge", "Events that the sink could not deliver.",
         [](const SinkView& sink) { return sink.progress.dead_letters; });
  family("everstep_sink_up", "gauge", "1 while the sink is active.",
         [](const SinkView& sink) { return sink.state == "ACTIVE" ? 1 : 0; });
}

void StoreFamilies(Api& api, Exposition& out) {
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  const Committer& committer = api.embedded_log().committer();
  const HistogramCounts events = committer.write_events();
  out.Counter("everstep_events_appended_total", "Events that became durable.", number(events.sum));
  out.Histogram("everstep_commit_events", "Events of a durable write.", events, 1);
  out.Histogram("everstep_commit_duration_seconds", "Time of a durable write.",
                committer.write_us(), kMicro);
  const LogHealth health = api.log().Health("default");
  out.Counter("everstep_payload_mismatches_total", "Repeated events with another payload.",
              number(health.payload_mismatches));
  out.Gauge("everstep_store_stopped", "1 after a write with an unknown outcome.",
            health.stopped ? 1 : 0);
  out.Gauge("everstep_store_disk_bytes", "Size of the store's files.", number(health.disk_bytes));
  out.Family("everstep_memory_bytes", "gauge", "Memory by part.");
  out.Sample(number(health.memory_bytes), "part=\"runs\"");
  out.Sample(number(api.HttpMetrics().buffered_bytes), "part=\"http\"");
  out.Sample(number(api.kept_answer_bytes()), "part=\"answers\"");
  out.Sample(number(ResidentBytes()), "part=\"resident\"");
}

void MessageFamilies(Api& api, Exposition& out) {
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  const MessageQueue::Counts messages = api.queue().CountAll();
  out.Family("everstep_messages", "gauge", "Messages for applications by state.");
  out.Sample(number(messages.waiting), "state=\"waiting\"");
  out.Sample(number(messages.under_way), "state=\"delivering\"");
  out.Sample(number(messages.dead), "state=\"dead\"");
  out.Gauge("everstep_endpoints", "Applications that receive messages.",
            number(messages.endpoints));
  out.Gauge("everstep_followers", "Event streams.", number(api.followers().size()));
  out.Gauge("everstep_follower_lag_commits", "Commits not yet sent to the slowest stream.",
            number(api.followers().lag()));
  out.Counter("everstep_alerts_total", "Alerts raised.", number(api.alerts().total()));
}

}  // namespace

std::string MetricsText(Api& api, const std::string& tenant_id) {
  Exposition out;
  out.Family("everstep_build_info", "gauge", "The running version.");
  out.Sample(1, "version=\"" + api.options().version + "\"");
  SinkFamilies(api, tenant_id, out);
  // The others are totals over all tenants.
  if (!tenant_id.empty()) return out.Take();
  EngineFamilies(api.engine().Metrics(), out);
  StoreFamilies(api, out);
  WorkFamilies(api, out);
  MessageFamilies(api, out);
  HttpFamilies(api, out);
  return out.Take();
}

}  // namespace everstep
