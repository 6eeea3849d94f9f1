#include "client/task_report.h"

#include <exception>
#include <utility>

#include "base/json.h"
#include "base/value.h"

namespace everstep {
namespace {

// Less than the server accepts in one request, to leave room for other reports.
constexpr std::size_t kReportBytesMax = 16 << 20;

bool IsJson(const std::string& text) { return text.empty() || ValueFromJson(text).has_value(); }
bool IsText(const std::string& text) { return ValueFromJson(JsonQuote(text)).has_value(); }

// Returns what is wrong with the result; empty if it is valid.
std::string FaultOf(const TaskResult& result) {
  std::size_t bytes = result.result.size() + result.artifacts.size();
  if (!IsJson(result.result)) return "the result is not JSON";
  if (!IsJson(result.artifacts)) return "the artifacts are not JSON";
  if (result.error) {
    const TaskResult::Failure& error = *result.error;
    bytes += error.message.size() + error.details.size();
    if (!IsJson(error.details)) return "the details of the failure are not JSON";
    if (!IsText(error.code) || !IsText(error.message) || !IsText(error.category)) {
      return "the failure's code, message or category is not valid UTF-8";
    }
  }
  return bytes > kReportBytesMax ? "the result is larger than 16 MiB" : "";
}

TaskResult Perform(const TaskCall& call, const Worker::Handler& handler) {
  TaskResult result;
  try {
    result = handler(call);
  } catch (const std::exception& exception) {
    const std::string what = exception.what();
    result = TaskResult::Failed("WORKER_EXCEPTION", IsText(what) ? what : "an exception", true);
  }
  std::string fault = FaultOf(result);
  if (fault.empty()) return result;
  return TaskResult::Failed("WORKER_RESULT_INVALID", std::move(fault), false);
}

}  // namespace

ReportBody ReportOn(const std::string& token, const TaskCall& call,
                    const Worker::Handler& handler) {
  TaskResult result = Perform(call, handler);
  ReportBody report;
  report.token = token;
  report.result = std::move(result.result);
  report.artifacts = std::move(result.artifacts);
  if (result.error) {
    TaskResult::Failure& error = *result.error;
    report.result.clear();
    report.error =
        ReportBody::Failure{std::move(error.code),     std::move(error.message), error.retryable,
                            std::move(error.category), std::move(error.details), error.retry_after};
  }
  return report;
}

TaskCall CallOf(TaskBody task) {
  TaskCall call;
  call.run_id = std::move(task.run_id);
  call.step_id = std::move(task.step_id);
  call.kind = std::move(task.kind);
  call.queue = std::move(task.queue);
  call.logical_attempt = task.logical_attempt;
  call.engine_attempt = task.engine_attempt;
  call.idempotency_key = std::move(task.idempotency_key);
  call.inputs = task.inputs.empty() ? "{}" : std::move(task.inputs);
  call.timeout = task.timeout;
  call.project_id = std::move(task.project_id);
  call.environment_id = std::move(task.environment_id);
  return call;
}

}  // namespace everstep
