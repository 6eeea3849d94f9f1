#include "event/vocabulary.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/json.h"
#include "event/catalogue.h"
#include "event/json_document.h"
#include "event/slot_fill.h"
#include "event/slot_show.h"

namespace everstep {
namespace {

bool MayBeLeftOutWhenFlat(Slot slot) {
  constexpr std::array kSlots = {Slot::kTenantId,      Slot::kProjectId,   Slot::kEnvironmentId,
                                 Slot::kPlanId,        Slot::kPlanVersion, Slot::kEngineAttempt,
                                 Slot::kLogicalAttempt};
  return std::ranges::find(kSlots, slot) != kSlots.end();
}

bool Matches(const EventRow& row, const Event& event) {
  if (row.type != event.type || row.legacy) return false;
  return row.failures == Failures::kAll ||
         (row.failures == Failures::kRetried) == event.facts.will_retry;
}

template <typename Form>
void Close(Form& form) {
  form.rule = ObjectRule{form.fields, false, form.refusals};
  form.check = std::make_unique<FieldCheck>(form.rule);
}

}  // namespace

Subjects SubjectOf(EventType type) {
  switch (SpecOf(type).entity) {
    case EntityKind::kRun:
      return kOfRun;
    case EntityKind::kStep:
      return kOfStep;
    case EntityKind::kSignal:
      return kOfSignal;
    default:
      return kOfOthers;
  }
}

Vocabulary::Vocabulary(const DialectTable& table, Finish finish) : table_(table), finish_(finish) {
  for (const FieldRule& rule : table.flat.lifted) lifted_names_.push_back(rule.name);
  for (const EventRow& row : table.events) {
    if (entries_.empty() || entries_.back()->name != row.name) {
      EVERSTEP_ASSERT(!by_name_.contains(row.name));
      entries_.push_back(std::make_unique<Entry>());
      entries_.back()->name = row.name;
      by_name_.emplace(row.name, entries_.back().get());
    }
    entries_.back()->rows.push_back(&row);
  }
  for (const auto& entry : entries_) Compile(*entry);
}

// The envelope's rule, specialized for this event.
FieldRule Vocabulary::RuleFor(const Entry& entry, FieldRule rule) const {
  const EventRow& row = *entry.rows.front();
  switch (rule.slot) {
    case Slot::kEventType:
      rule.words = {&entry.name, 1};
      break;
    case Slot::kEntityType:
      rule.words = {&row.entity_type, 1};
      break;
    case Slot::kStatus:
      if (entry.statuses.empty()) break;
      rule.words = entry.statuses;
      rule.required = !row.status_may_be_left_out;
      break;
    case Slot::kPayload:
      if (row.payload == nullptr) break;
      rule.kind = FieldKind::kObject;
      rule.object = row.payload;
      rule.required = std::ranges::any_of(row.payload->fields, &FieldRule::required);
      break;
    default:
      break;
  }
  return rule;
}

void Vocabulary::Compile(Entry& entry) const {
  const Subjects subject = SubjectOf(entry.rows.front()->type);
  for (const EventRow* row : entry.rows) {
    if (!row->status.empty()) entry.statuses.push_back(row->status);
  }
  for (const EnvelopeRow& row : table_.envelope) {
    if ((row.subjects & subject) == 0) continue;
    if (row.refusal.empty()) {
      entry.form.fields.push_back(RuleFor(entry, row.rule));
    } else {
      entry.form.refusals.push_back({row.rule.name, row.refusal});
    }
  }
  Close(entry.form);
  if (table_.flat.event != entry.name) return;
  entry.flat = std::make_unique<Form>();
  entry.flat->refusals = entry.form.refusals;
  for (FieldRule rule : entry.form.fields) {
    if (rule.slot == Slot::kPayload) continue;
    if (MayBeLeftOutWhenFlat(rule.slot)) rule.required = false;
    entry.flat->fields.push_back(rule);
  }
  entry.flat->fields.insert(entry.flat->fields.end(), table_.flat.lifted.begin(),
                            table_.flat.lifted.end());
  Close(*entry.flat);
}

bool Vocabulary::IsFlat(const Entry& entry, simdjson::dom::object document) const {
  if (entry.flat == nullptr) return false;
  return std::ranges::any_of(lifted_names_, [&](std::string_view name) {
    return document[name].error() == simdjson::SUCCESS;
  });
}

const EventRow& Vocabulary::Select(const Entry& entry, const Findings& findings) const {
  if (entry.rows.size() == 1) return *entry.rows.front();
  const auto found = std::ranges::find(findings.found, Slot::kStatus,
                                       [](const FoundField& field) { return field.rule->slot; });
  std::string_view status;
  if (found == findings.found.end() || found->value.get(status)) return *entry.rows.front();
  return **std::ranges::find(entry.rows, status, &EventRow::status);
}

Error Vocabulary::Unknown(std::string_view name) const {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) {
    const std::string message =
        std::string(name) + " is recorded by Everstep and cannot be written";
    return {ErrorCode::kEventTypeUnknown,
            message,
            {Fault{"/" + std::string(table_.type_member), message}}};
  }
  std::string message = "must be one of";
  for (const auto& entry : entries_) {
    if (SpecOf(entry->rows.front()->type).recorded_only) continue;
    message.append(entry == entries_.front() ? " " : ", ").append(entry->name);
  }
  return {
      ErrorCode::kEventTypeUnknown,
      JsonQuote(name) + " is not an event of the " + std::string(Name(table_.dialect)) + " dialect",
      {Fault{"/" + std::string(table_.type_member), std::move(message)}}};
}

void Vocabulary::Lift(std::string_view json, EventWrite& write) const {
  for (const std::string_view name : lifted_names_) {
    if (const auto value = RawMember(json, name)) AddMember(write.payload, name, *value);
  }
  if (write.logical_attempt == 0) write.logical_attempt = 1;
  if (write.engine_attempt == 0) write.engine_attempt = 1;
}

Status Vocabulary::Parse(std::string_view json, AppendOrder& order) const {
  auto document = ReadDocument(json);
  if (!document) return std::move(document).error();
  std::string_view name;
  if (document->at_key(table_.type_member).get(name)) {
    return Error{ErrorCode::kSchemaValidationFailed,
                 "the event has no type",
                 {Fault{"/" + std::string(table_.type_member), "is required: the event's name"}}};
  }
  const auto known = by_name_.find(name);
  if (known == by_name_.end() || SpecOf(known->second->rows.front()->type).recorded_only) {
    return Unknown(name);
  }
  const Entry& entry = *known->second;
  const bool flat = IsFlat(entry, *document);
  thread_local Findings findings;
  findings.Clear();
  (flat ? *entry.flat : entry.form).check->Run(*document, findings);
  if (auto error = ErrorOf(entry.name, findings)) return *std::move(error);

  order.events.resize(1);
  order.rule = nullptr;
  EventWrite& write = order.events.front();
  write = EventWrite();  // keeps the memory of its strings
  const EventRow& row = Select(entry, findings);
  write.type = row.type;
  write.facts.will_retry = row.failures == Failures::kRetried;
  for (const FoundField& found : findings.found) Fill(found, write);
  if (flat) Lift(json, write);
  finish_(row, findings, write, findings.faults);
  if (auto error = ErrorOf(entry.name, findings)) return *std::move(error);
  order.run_id = write.run_id;
  return Ok();
}

void Vocabulary::Render(const RunIdentity& run, const Event& event,
                        std::vector<std::string>& out) const {
  std::vector<const EventRow*> rows;
  for (const EventRow& row : table_.events) {
    if (Matches(row, event)) rows.push_back(&row);
  }
  if (rows.empty()) return;
  // If there are several documents, the one that was written, or else the first, has the event's
  // id.
  const std::string written = WrittenName(event);
  const auto named = std::ranges::find(rows, written, &EventRow::name);
  const EventRow* original = named == rows.end() ? rows.front() : *named;
  const Subjects subject = SubjectOf(event.type);
  for (const EventRow* row : rows) {
    View view{run, event, *row, event.event_id, row == original};
    if (!view.is_original) view.event_id.append(".").append(row->entity_type);
    JsonWriter writer(out.emplace_back());
    writer.BeginObject();
    for (const EnvelopeRow& member : table_.envelope) {
      if ((member.subjects & subject) != 0) ShowMember(member.rule, view, writer);
    }
    writer.EndObject();
  }
}

std::optional<NamedPayload> Vocabulary::RenderPayload(const RunIdentity& run,
                                                      const Event& event) const {
  const auto row = std::ranges::find_if(
      table_.events, [&event](const EventRow& candidate) { return Matches(candidate, event); });
  if (row == table_.events.end()) return std::nullopt;
  return NamedPayload{row->name, ShownPayload({run, event, *row, {}})};
}

std::vector<DocumentShape> Vocabulary::Shapes() const {
  std::vector<DocumentShape> shapes;
  for (const auto& entry : entries_) {
    const EventSpec& spec = SpecOf(entry->rows.front()->type);
    if (spec.recorded_only) continue;
    DocumentShape& shape =
        shapes.emplace_back(DocumentShape{entry->name, spec.meaning, &entry->form.rule, {}});
    if (entry->flat == nullptr) continue;
    shape.marks = lifted_names_;
    shape.marked = &entry->flat->rule;
  }
  return shapes;
}

std::vector<std::string> Vocabulary::NamesOf(EventType type) const {
  std::vector<std::string> names;
  for (const EventRow& row : table_.events) {
    if (row.type != type) continue;
    names.emplace_back(row.name);
    if (!row.status.empty()) names.back().append(" (").append(row.status).append(")");
  }
  return names;
}

}  // namespace everstep
