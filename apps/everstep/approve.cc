#include "actor.h"
#include "commands.h"
#include "output.h"
#include "store_command.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    kFolderOption,
    kServerOption,
    kTokenFileOption,
    kCaFileOption,
    {"reason", OptionKind::kText, "TEXT", "the reason, for the record"},
    kRoleOption,
    kWaitOption,
};

ExitCode OnEngine(const EngineCall& call) {
  const std::string& run_id = call.arguments.operands().front();
  const Status approved = call.store.Approve(run_id, LocalActor(call.arguments.Text("role")),
                                             call.arguments.Text("reason"));
  if (!approved) return Fail(approved.error(), call.out);
  call.out.Write(Printable(run_id) + " is approved\n");
  return ExitCode::kOk;
}

constexpr StoreCommand kOnStore{nullptr, nullptr, OnEngine};

}  // namespace

const Command kApprove{
    "approve",
    "RUN",
    1,
    1,
    "Approve a run that must be approved before it starts.",
    "To answer a step that waits for an approval, use 'everstep deliver TOKEN --approve'.",
    kOptions,
    RunOnStore,
    &kOnStore,
};

}  // namespace everstep::cli
