#pragma once

#include <string>
#include <string_view>

#include "base/cbor.h"
#include "base/json.h"

namespace everstep {

// The log stores payloads as JSON, the wire carries them as CBOR. Bytes are represented in JSON as
// {"__type":"Uint8Array","data":"<base64>"}, like Workflow DevKit does; times as RFC 3339 texts.

// Returns false if the item contains a number that JSON cannot represent.
[[nodiscard]] bool WriteJson(const CborItem& item, JsonWriter& json);

// Requires: `json` is well-formed.
void WriteCbor(std::string_view json, CborWriter& cbor);
// The same without one of the members of the object, in linear time.
void WriteCborWithout(std::string_view json, std::string_view member, CborWriter& cbor);

}  // namespace everstep
