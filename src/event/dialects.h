#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "event/dialect.h"
#include "event/document_shape.h"
#include "event/vocabulary.h"

namespace everstep {

// Defined in dialect_<name>.cc.
const Vocabulary& NativeVocabulary();
const Vocabulary& ContractVocabulary();
const Vocabulary& DevkitVocabulary();
const Vocabulary& NoetlVocabulary();

// An Elephant document can contain several events, so it does not fit a Vocabulary.
Result<AppendOrder> ParseElephant(std::string_view json);
void RenderElephant(const RunIdentity& run, const Event& event, std::vector<std::string>& out);
std::vector<DocumentShape> ElephantShapes();
std::vector<std::string> ElephantNamesOf(EventType type);

// CloudEvents 1.0, structured mode; the data is the native view.
void RenderCloudEvent(const RunIdentity& run, const Event& event, std::vector<std::string>& out);

}  // namespace everstep
