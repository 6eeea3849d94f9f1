#include "event/dialect.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "event/catalogue.h"
#include "event/dialects.h"

namespace everstep {
namespace {

constexpr std::array kDialects = {Dialect::kNative, Dialect::kContract, Dialect::kDevkit,
                                  Dialect::kNoetl,  Dialect::kElephant, Dialect::kCloudEvents};

// Returns null for the dialects whose documents are not an envelope with a payload.
const Vocabulary* VocabularyOf(Dialect dialect) {
  switch (dialect) {
    case Dialect::kNative:
      return &NativeVocabulary();
    case Dialect::kContract:
      return &ContractVocabulary();
    case Dialect::kDevkit:
      return &DevkitVocabulary();
    case Dialect::kNoetl:
      return &NoetlVocabulary();
    case Dialect::kElephant:
    case Dialect::kCloudEvents:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

std::string_view Name(Dialect dialect) {
  switch (dialect) {
    case Dialect::kNative:
      return "native";
    case Dialect::kContract:
      return "contract";
    case Dialect::kDevkit:
      return "devkit";
    case Dialect::kNoetl:
      return "noetl";
    case Dialect::kElephant:
      return "elephant";
    case Dialect::kCloudEvents:
      return "cloudevents";
  }
  EVERSTEP_ASSERT(!"a dialect that does not exist");
}

std::optional<Dialect> DialectNamed(std::string_view name) {
  const auto found =
      std::ranges::find_if(kDialects, [&](Dialect dialect) { return Name(dialect) == name; });
  return found == kDialects.end() ? std::nullopt : std::optional(*found);
}

std::span<const Dialect> WritableDialects() {
  return std::span(kDialects).first(kDialects.size() - 1);
}

Result<AppendOrder> ParseEvent(Dialect dialect, std::string_view json) {
  AppendOrder order;
  const Status parsed = ParseEvent(dialect, json, order);
  if (!parsed) return parsed.error();
  return order;
}

Status ParseEvent(Dialect dialect, std::string_view json, AppendOrder& order) {
  if (const Vocabulary* vocabulary = VocabularyOf(dialect)) return vocabulary->Parse(json, order);
  if (dialect == Dialect::kElephant) {
    auto parsed = ParseElephant(json);
    if (!parsed) return std::move(parsed).error();
    order = *std::move(parsed);
    return Ok();
  }
  return Error{ErrorCode::kInvalidArgument,
               "CloudEvents can only be read; write native, contract, devkit, noetl or elephant",
               {}};
}

void RenderEvent(Dialect dialect, const RunIdentity& run, const Event& event,
                 std::vector<std::string>& out) {
  if (!IsKnown(event.type)) return;
  if (const Vocabulary* vocabulary = VocabularyOf(dialect)) {
    vocabulary->Render(run, event, out);
  } else if (dialect == Dialect::kElephant) {
    RenderElephant(run, event, out);
  } else {
    RenderCloudEvent(run, event, out);
  }
}

std::optional<NamedPayload> RenderPayload(Dialect dialect, const RunIdentity& run,
                                          const Event& event) {
  const Vocabulary* vocabulary = VocabularyOf(dialect);
  EVERSTEP_ASSERT(vocabulary != nullptr);
  return IsKnown(event.type) ? vocabulary->RenderPayload(run, event) : std::nullopt;
}

std::vector<DocumentShape> DocumentShapes(Dialect dialect) {
  if (const Vocabulary* vocabulary = VocabularyOf(dialect)) return vocabulary->Shapes();
  if (dialect == Dialect::kElephant) return ElephantShapes();
  return {};
}

std::vector<std::string> NamesOf(Dialect dialect, EventType type) {
  if (const Vocabulary* vocabulary = VocabularyOf(dialect)) return vocabulary->NamesOf(type);
  if (dialect == Dialect::kElephant) return ElephantNamesOf(type);
  return {};
}

}  // namespace everstep
