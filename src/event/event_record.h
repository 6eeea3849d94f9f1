#pragma once

#include <string>
#include <string_view>

#include "event/event.h"
#include "everstep/result.h"

namespace everstep {

// The stored form of an event (grammar in docs/formats.md), closed by a CRC-32C. A released version
// keeps its bytes for ever.
void EncodeEventRecord(const Event& event, std::string& out);

// kStoreCorrupt when the bytes are not a whole record. A type this build does not know decodes: it
// is the reader's business to skip it.
Result<Event> DecodeEventRecord(std::string_view bytes);

}  // namespace everstep
