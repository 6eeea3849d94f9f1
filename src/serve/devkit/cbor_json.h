#pragma once

#include <string>
#include <string_view>

#include "base/cbor.h"
#include "base/json.h"

namespace everstep {

// The log keeps payloads as JSON, the wire carries them as CBOR. Bytes stand in JSON as
// {"__type":"Uint8Array","data":"<base64>"}, as Workflow DevKit itself writes them; times as
// RFC 3339 texts.

// False: it holds a number that JSON has not.
[[nodiscard]] bool WriteJson(const CborItem& item, JsonWriter& json);

// `json` must be well-formed.
void WriteCbor(std::string_view json, CborWriter& cbor);

}  // namespace everstep
