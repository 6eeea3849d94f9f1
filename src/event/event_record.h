#pragma once

#include <string>
#include <string_view>

#include "event/event.h"
#include "everstep/result.h"

namespace everstep {

// Appends the stored form of an event (grammar in docs/formats.md), which ends with a CRC-32C. The
// encoding of a released format version must never change.
void EncodeEventRecord(const Event& event, std::string& out);

// kStoreCorrupt if the bytes are not exactly one valid record. An event of an unknown type decodes
// successfully; the caller must skip it.
Result<Event> DecodeEventRecord(std::string_view bytes);

}  // namespace everstep
