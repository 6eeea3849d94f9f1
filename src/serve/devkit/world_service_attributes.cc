// Attribute changes: reading the attributes against which they are checked.

#include <algorithm>
#include <utility>

#include "serve/devkit/world_service.h"

namespace everstep {

void WorldService::LookAtAttributes(ApiCall& call, const WorldCaller& caller,
                                    std::vector<One*>& asked, AttributeViews& views, Used& used) {
  std::erase_if(asked, [&](One* one) {
    if (one->order->spec().type == WorldEventType::kAttrSet) {
      one->error = CheckRoom(call, used);
      if (!one->error) one->error = LookAtAttributes(caller, *one, views, used);
    }
    return one->error.has_value();
  });
}

WorldOutcome WorldService::LookAtAttributes(const WorldCaller& caller, One& one,
                                            AttributeViews& views, Used& used) {
  const CborItem& data = *one.args->Find("data");
  const auto seen = views.find(one.order->run_id());
  if (seen != views.end()) {
    one.order->JudgeBy(seen->second, data);
    return std::nullopt;
  }
  const auto reader = parts_.log.store().Read();
  WorldReader world(*reader, caller);
  const auto found = world.FindRun(one.order->run_id().value());
  if (const auto* error = std::get_if<WorldError>(&found)) return *error;
  const auto& run = std::get<StoredRun>(found);
  auto before = world.AttributesOf(run);
  used.rows += world.rows_read();
  if (!before) return WorldErrorOf(before.error());
  constexpr auto kType = static_cast<std::size_t>(EventType::kContextUpdated);
  AttributeView& view = views[one.order->run_id()];
  view = {*std::move(before), run.state.last_of_type[kType]};
  one.order->JudgeBy(view, data);
  return std::nullopt;
}

}  // namespace everstep
