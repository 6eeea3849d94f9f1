#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event/dialect.h"

namespace everstep {

// What CloudEvents says of an event beside its data, in order. The type must be known.
using CloudEventAttributes = std::vector<std::pair<std::string, std::string>>;
CloudEventAttributes CloudEventAttributesOf(const RunIdentity& run, const Event& event);

// The JSON format; `data` is JSON.
std::string StructuredCloudEvent(const CloudEventAttributes& attributes, std::string_view data);

}  // namespace everstep
