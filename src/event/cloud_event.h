#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event/dialect.h"

namespace everstep {

// The CloudEvents attributes of an event, in order. Requires: IsKnown(event.type).
using CloudEventAttributes = std::vector<std::pair<std::string, std::string>>;
CloudEventAttributes CloudEventAttributesOf(const RunIdentity& run, const Event& event);

// A CloudEvent in the JSON format (structured mode); `data` is JSON.
std::string StructuredCloudEvent(const CloudEventAttributes& attributes, std::string_view data);

}  // namespace everstep
