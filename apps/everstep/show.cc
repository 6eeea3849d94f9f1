#include <chrono>

#include "commands.h"
#include "output.h"
#include "run_view_text.h"
#include "snapshot_text.h"
#include "store_command.h"
#include "wire/engine_types.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {kFolderOption, kServerOption, kTokenFileOption,
                                   kCaFileOption, kOutputOption, kWaitOption};

ExitCode OnEngine(const EngineCall& call) {
  const auto view = call.store.View(call.arguments.operands().front());
  if (!view) return Fail(view.error(), call.out);
  const OutputForm form = FormOf(call.arguments);
  if (form == OutputForm::kTable) {
    const auto now =
        std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    call.out.Write(RunViewText(*view, now, call.Hint("deliver"), call.out.look()));
  } else {
    WriteDocument(form, ToWire(*view), call.out);
  }
  return ExitCode::kOk;
}

// Shows what the log alone contains, without the plan.
ExitCode OnLog(const LogCall& call) {
  const auto snapshot = call.store.Snapshot(call.arguments.operands().front());
  if (!snapshot) return Fail(snapshot.error(), call.out);
  call.out.WriteError("everstep: the owner of the store does not answer; showing only the log\n");
  const OutputForm form = FormOf(call.arguments);
  if (form == OutputForm::kTable) {
    call.out.Write(SnapshotText(*snapshot, call.out.look()));
  } else {
    WriteDocument(form, ToJson(*snapshot), call.out);
  }
  return ExitCode::kOk;
}

constexpr StoreCommand kOnStore{nullptr, OnLog, OnEngine};

}  // namespace

const Command kShow{
    "show",
    "RUN",
    1,
    1,
    "Show a run: its steps, what they wait for, its result or error.",
    "",
    kOptions,
    RunOnStore,
    &kOnStore,
};

}  // namespace everstep::cli
