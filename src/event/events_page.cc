#include "event/catalogue.h"
#include "event/document_shape.h"
#include "event/schema.h"

namespace everstep {
namespace {

std::string Cell(const std::vector<std::string>& names) {
  std::string cell;
  for (const std::string& name : names) cell += (cell.empty() ? "`" : ", `") + name + "`";
  return cell.empty() ? "–" : cell;
}

}  // namespace

std::string EventsPage() {
  std::string page =
      "# Events\n\n"
      "Every event of a run log, what it does to its entity, and what each dialect calls it. A "
      "view "
      "leaves out\nwhat its dialect has no name for. Made by `everstep-schemas` from the tables "
      "that "
      "check events at append;\nthe JSON Schemas of each dialect are in `schemas/<dialect>/`.\n\n"
      "| Native | Entity | Transition | Meaning | contract | devkit | noetl | elephant |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const EventSpec& spec : Catalogue()) {
    page += "| `" + std::string(spec.name) + "`" + (spec.recorded_only ? " (recorded only)" : "") +
            " | " + std::string(Name(spec.entity)) + " | " + std::string(spec.transition) + " | " +
            std::string(spec.meaning);
    for (const Dialect dialect :
         {Dialect::kContract, Dialect::kDevkit, Dialect::kNoetl, Dialect::kElephant}) {
      page += " | " + Cell(NamesOf(dialect, spec.type));
    }
    page += " |\n";
  }
  return page;
}

}  // namespace everstep
