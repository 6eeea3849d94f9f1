#include "engine/store_order.h"

#include <array>
#include <utility>

namespace everstep {
namespace {

Status WriteOne(StateStore& store, StorePlan& order) {
  return store.PutPlan(order.sha256, order.document);
}

Status WriteOne(StateStore& store, StoreFirst& order) {
  auto existing = store.Read()->FindDocument(order.document.key);
  if (!existing) return std::move(existing).error();
  order.existing = *std::move(existing);
  if (order.existing) return Ok();
  return store.PutDocuments(std::array{order.document});
}

Status WriteOne(StateStore& store, QuarantineRun& order) {
  return store.Quarantine(order.run_id, order.reason);
}

Status WriteOne(StateStore& store, PurgeRuns& order) {
  return store.Purge(order.runs, order.now, order.tombstones_expired);
}

Status WriteOne(StateStore& store, SinkMove& order) { return store.MoveSink(order); }

Status WriteOne(StateStore& store, ForgetSink& order) { return store.RemoveSink(order.key); }

}  // namespace

Status WriteOrder(StateStore& store, StoreOrder& order) {
  return std::visit([&store](auto& one) { return WriteOne(store, one); }, order);
}

}  // namespace everstep
