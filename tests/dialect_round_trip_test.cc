#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>

#include "base/json.h"
#include "event/dialect.h"
#include "event/document_shape.h"
#include "tests/document_generator.h"

namespace everstep {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// The event that the append authority makes of an order, as far as a view shows it.
Event Placed(const EventWrite& write) {
  Event event;
  event.type = write.type;
  event.seq = EventSeq(1);
  event.event_id = write.event_id.empty() ? "evnt_1" : write.event_id;
  event.entity_id = write.entity_id;
  event.instance_id = write.instance_id;
  event.parent_id = write.parent_id;
  event.logical_attempt = write.logical_attempt == 0 ? 1 : write.logical_attempt;
  event.engine_attempt = write.engine_attempt == 0 ? 1 : write.engine_attempt;
  event.persisted_at = FromMicros(1'700'000'000'000'000);
  event.emitted_at = write.emitted_at == Timestamp{} ? event.persisted_at : write.emitted_at;
  event.emitted_by = write.emitted_by;
  event.facts = write.facts;
  event.payload = write.payload;
  event.attributes = write.attributes;
  return event;
}

RunIdentity IdentityOf(const EventWrite& write) {
  return {write.run_id, write.scope, write.key_version.value_or(KeyVersion::kV1)};
}

bool SameText(std::string_view shown, std::string_view written) {
  if (shown == written) return true;
  const auto time = ParseTimestamp(written);
  return time && ParseTimestamp(shown) == time;
}

bool SameNumber(element shown, element written) {
  double a = 0;
  double b = 0;
  return !shown.get(a) && !written.get(b) && a == b;
}

// Returns whether `shown` contains all of `written`: objects may have extra members, but no other
// difference is allowed.
bool Includes(element shown, element written) {
  object shown_object;
  object written_object;
  if (!written.get(written_object)) {
    if (shown.get(shown_object)) return false;
    for (const auto [name, value] : written_object) {
      element member;
      if (shown_object[name].get(member) || !Includes(member, value)) return false;
    }
    return true;
  }
  array shown_array;
  array written_array;
  if (!written.get(written_array)) {
    if (shown.get(shown_array) || shown_array.size() != written_array.size()) return false;
    for (std::size_t i = 0; i < written_array.size(); ++i) {
      if (!Includes(shown_array.at(i), written_array.at(i))) return false;
    }
    return true;
  }
  if (written.is_number()) return SameNumber(shown, written);
  std::string_view shown_text;
  std::string_view written_text;
  if (!written.get(written_text)) {
    return !shown.get(shown_text) && SameText(shown_text, written_text);
  }
  return simdjson::minify(shown) == simdjson::minify(written);
}

// Adapts the document to what a view may legitimately show differently: keys are computed, legacy
// names normalised, the flat form of RunStarted nested and Elephant's bare detail put into an
// envelope.
std::string Expected(Dialect dialect, const std::string& document, const EventWrite& first) {
  simdjson::dom::parser parser;
  const object written = parser.parse(document);
  const bool bare = dialect == Dialect::kElephant && !RawMember(document, "detail");
  const bool flat = dialect == Dialect::kContract && RawMember(document, "planRef").has_value();
  if (bare) return "{\"detail\":" + document + "}";
  std::string expected;
  JsonWriter writer(expected);
  writer.BeginObject();
  for (const auto [name, value] : written) {
    if (name == "idempotencyKey") continue;
    if (flat && RawMember(first.payload, name)) continue;
    if (dialect == Dialect::kNoetl && name == "event_type") {
      const std::string_view type = value;
      if (type.starts_with("task_")) continue;
    }
    writer.RawMember(name, simdjson::minify(value));
  }
  if (flat) writer.RawMember("payload", first.payload);
  writer.EndObject();
  return expected;
}

TEST(DialectRoundTrip, ShowsWhatWasWrittenInTheSameDialect) {
  DocumentGenerator generator(4711);
  simdjson::dom::parser shown_parser;
  simdjson::dom::parser written_parser;
  for (const Dialect dialect : WritableDialects()) {
    for (const DocumentShape& shape : DocumentShapes(dialect)) {
      for (int i = 0; i < 60; ++i) {
        const std::string document = generator.Fitting(shape);
        const auto order = ParseEvent(dialect, document);
        ASSERT_TRUE(order) << ToString(order.error()) << "\n" << document;
        std::vector<std::string> shown;
        for (const EventWrite& write : order->events) {
          RenderEvent(dialect, IdentityOf(write), Placed(write), shown);
        }
        const std::string expected = Expected(dialect, document, order->events.front());
        const element written = written_parser.parse(expected);
        bool found = false;
        std::string all;
        for (const std::string& text : shown) {
          found |= Includes(shown_parser.parse(text), written);
          all += text + "\n";
        }
        ASSERT_TRUE(found) << Name(dialect) << "\nwritten " << expected << "\nshown " << all;
      }
    }
  }
}

TEST(DialectRoundTrip, EveryViewOfEveryEventIsJsonAndAnEventOfItsDialect) {
  DocumentGenerator generator(4712);
  for (const Dialect source : WritableDialects()) {
    for (const DocumentShape& shape : DocumentShapes(source)) {
      for (int i = 0; i < 20; ++i) {
        const auto order = ParseEvent(source, generator.Fitting(shape));
        ASSERT_TRUE(order);
        for (const EventWrite& write : order->events) {
          for (const Dialect target : {Dialect::kDevkit, Dialect::kNoetl, Dialect::kElephant}) {
            std::vector<std::string> shown;
            RunIdentity run = IdentityOf(write);
            if (run.scope.plan_id.empty()) run.scope.plan_id = "plan";
            if (run.scope.plan_version.empty()) run.scope.plan_version = "1";
            RenderEvent(target, run, Placed(write), shown);
            for (const std::string& text : shown) {
              const auto again = ParseEvent(target, text);
              EXPECT_TRUE(again || again.error().code == ErrorCode::kSchemaValidationFailed)
                  << ToString(again.error()) << "\n"
                  << text;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace everstep
