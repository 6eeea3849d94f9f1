#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "everstep/dialect.h"

namespace everstep {

// A JSON Schema (2020-12) of one event in one dialect.
struct SchemaDocument {
  Dialect dialect;
  std::string_view event;
  std::string path;  // below schemas/: "contract/RunStarted.schema.json"
  std::string text;  // ends with a line break
};

// The schemas of all events that can be written. Generated from the tables that ParseEvent checks.
std::vector<SchemaDocument> ListSchemas();

// The text of docs/events.md: all events and their names in each dialect.
std::string EventsPage();

}  // namespace everstep
