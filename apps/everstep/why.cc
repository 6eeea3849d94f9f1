#include <chrono>
#include <string>

#include "commands.h"
#include "output.h"
#include "snapshot_text.h"
#include "store_command.h"
#include "wire/engine_types.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {kFolderOption, kServerOption, kTokenFileOption,
                                   kCaFileOption, kOutputOption, kWaitOption};

std::string BlockerText(const Blocker& blocker, SystemTime now, const Look& look) {
  std::string text =
      std::string(look.Glyph("• ", "* ")) + look.Paint(Colour::kYellow, Printable(blocker.kind));
  if (!blocker.subject.empty()) text += " " + look.Paint(Colour::kBold, Printable(blocker.subject));
  text += ": " + Printable(blocker.message) + "\n";
  if (blocker.cause_seq > 0) {
    text += look.Paint(Colour::kDim, "    since event " + std::to_string(blocker.cause_seq)) + "\n";
  }
  if (blocker.wakes_at) {
    const std::string in =
        *blocker.wakes_at > now ? "in " + DurationText(*blocker.wakes_at - now) : "now";
    text += "    continues " + in + ", at " + TimeText(*blocker.wakes_at) + "\n";
  }
  if (!blocker.remedy.empty()) text += "    do: " + Printable(blocker.remedy) + "\n";
  return text;
}

ExitCode OnEngine(const EngineCall& call) {
  const auto why = call.store.Why(call.arguments.operands().front());
  if (!why) return Fail(why.error(), call.out);
  const OutputForm form = FormOf(call.arguments);
  if (form != OutputForm::kTable) {
    WriteDocument(form, ToWire(*why), call.out);
    return ExitCode::kOk;
  }
  const Look& look = call.out.look();
  std::string text = look.Paint(Colour::kBold, Printable(why->run_id)) + "  " +
                     look.Paint(ColourOfStatus(why->status), why->status);
  if (!why->substatus.empty()) text += " (" + why->substatus + ")";
  text += "\n";
  const bool is_said = why->blockers.size() == 1 && why->blockers.front().message == why->summary;
  if (!is_said) text += Printable(why->summary) + "\n";
  const auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  for (const Blocker& blocker : why->blockers) text += BlockerText(blocker, now, look);
  call.out.Write(text);
  return ExitCode::kOk;
}

constexpr StoreCommand kOnStore{nullptr, nullptr, OnEngine};

}  // namespace

const Command kWhy{
    "why",
    "RUN",
    1,
    1,
    "Explain why a run does not progress: what it waits for, since which event, until when.",
    "",
    kOptions,
    RunOnStore,
    &kOnStore,
};

}  // namespace everstep::cli
