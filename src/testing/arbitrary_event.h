#pragma once

// Include after <gtest/gtest.h>. Teaches rapidcheck to generate events:
// rc::gen::arbitrary<Event>().

#include <rapidcheck.h>

#include <limits>
#include <ostream>
#include <string>

#include "event/catalogue.h"
#include "event/event.h"

namespace everstep {

// Any instant of the years 0000 to 9999 in microseconds, often close to others, often unset.
inline rc::Gen<Timestamp> AnyTimestamp() {
  constexpr std::int64_t kFirst = -62'167'219'200'000'000;
  constexpr std::int64_t kBehindLast = 253'402'300'800'000'000;
  constexpr std::int64_t kRecent = 1'770'000'000'000'000;
  const auto micros = rc::gen::weightedOneOf<std::int64_t>(
      {{1, rc::gen::just<std::int64_t>(0)},
       {4, rc::gen::inRange<std::int64_t>(kRecent, kRecent + 5'000'000)},
       {2, rc::gen::inRange<std::int64_t>(kFirst, kBehindLast)}});
  return rc::gen::map(micros, [](std::int64_t value) { return FromMicros(value); });
}

// Empty, short or long, with arbitrary bytes.
inline rc::Gen<std::string> AnyText() {
  return rc::gen::weightedOneOf<std::string>(
      {{3, rc::gen::just(std::string())},
       {4, rc::gen::arbitrary<std::string>()},
       {1, rc::gen::map(rc::gen::inRange<std::size_t>(100, 20'000),
                        [](std::size_t size) { return std::string(size, 'x'); })}});
}

// Zero, small, or anything up to the largest.
template <typename T>
rc::Gen<T> AnyNumber() {
  return rc::gen::weightedOneOf<T>({{2, rc::gen::inRange<T>(0, 4)},
                                    {2, rc::gen::inRange<T>(0, 100'000)},
                                    {1, rc::gen::arbitrary<T>()},
                                    {1, rc::gen::just(std::numeric_limits<T>::max())}});
}

inline rc::Gen<EventSeq> AnyEventSeq() {
  return rc::gen::map(AnyNumber<std::uint64_t>(),
                      [](std::uint64_t value) { return EventSeq(value); });
}

inline rc::Gen<EventFacts> AnyEventFacts() {
  return rc::gen::build<EventFacts>(
      rc::gen::set(&EventFacts::will_retry), rc::gen::set(&EventFacts::retryable),
      rc::gen::set(&EventFacts::revisit), rc::gen::set(&EventFacts::escalation),
      rc::gen::set(&EventFacts::late), rc::gen::set(&EventFacts::due_at, AnyTimestamp()),
      rc::gen::set(&EventFacts::started_at, AnyTimestamp()),
      rc::gen::set(&EventFacts::token, AnyText()), rc::gen::set(&EventFacts::error_code, AnyText()),
      rc::gen::set(&EventFacts::error_message, AnyText()),
      rc::gen::set(&EventFacts::engine_run_ref, AnyText()),
      rc::gen::set(&EventFacts::artifacts, AnyText()));
}

// Any type in the catalogue.
inline rc::Gen<EventType> AnyEventType() {
  return rc::gen::map(rc::gen::inRange(1, kEventTypeCount + 1),
                      [](int number) { return static_cast<EventType>(number); });
}

// All members are independent of each other: for what a codec must preserve, not for what the
// machine accepts.
inline rc::Gen<Event> AnyEvent() {
  return rc::gen::build<Event>(
      rc::gen::set(&Event::type, AnyEventType()), rc::gen::set(&Event::version),
      rc::gen::set(&Event::seq, AnyEventSeq()), rc::gen::set(&Event::event_id, AnyText()),
      rc::gen::set(&Event::entity_id, AnyText()), rc::gen::set(&Event::instance_id, AnyText()),
      rc::gen::set(&Event::parent_id, AnyText()),
      rc::gen::set(&Event::logical_attempt, AnyNumber<std::uint32_t>()),
      rc::gen::set(&Event::engine_attempt, AnyNumber<std::uint32_t>()),
      rc::gen::set(&Event::emitted_at, AnyTimestamp()),
      rc::gen::set(&Event::persisted_at, AnyTimestamp()),
      rc::gen::set(&Event::emitted_by, AnyText()), rc::gen::set(&Event::facts, AnyEventFacts()),
      rc::gen::set(&Event::payload, AnyText()), rc::gen::set(&Event::attributes, AnyText()),
      rc::gen::set(&Event::previous_of_entity, AnyEventSeq()),
      rc::gen::set(&Event::previous_of_type, AnyEventSeq()));
}

// For the messages of failing tests.
inline std::ostream& operator<<(std::ostream& out, const Event& event) {
  if (IsKnown(event.type)) {
    out << SpecOf(event.type).name;
  } else {
    out << "type " << static_cast<int>(event.type);
  }
  return out << " v" << static_cast<int>(event.version) << " #" << event.seq.value() << " id '"
             << event.event_id << "' entity '" << event.entity_id << "' instance '"
             << event.instance_id << "' parent '" << event.parent_id << "' attempt "
             << event.logical_attempt << "/" << event.engine_attempt << " emitted "
             << FormatTimestamp(event.emitted_at) << " persisted "
             << FormatTimestamp(event.persisted_at) << " payload " << event.payload.size()
             << " bytes, chains " << event.previous_of_entity.value() << " and "
             << event.previous_of_type.value();
}

}  // namespace everstep

namespace rc {

template <>
struct Arbitrary<everstep::Event> {
  static Gen<everstep::Event> arbitrary() { return everstep::AnyEvent(); }
};

}  // namespace rc
