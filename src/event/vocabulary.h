#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event/dialect.h"
#include "event/dialect_table.h"
#include "event/document_shape.h"
#include "event/field_check.h"

namespace everstep {

// Parses and renders the documents of a DialectTable. Immutable and thread-safe.
class Vocabulary {
 public:
  // A dialect's last step of parsing, after all members are stored. May report faults that concern
  // more than one member.
  using Finish = void (*)(const EventRow& row, const Findings& findings, EventWrite& write,
                          std::vector<Fault>& faults);

  // Everything that `table` refers to must outlive the vocabulary.
  Vocabulary(const DialectTable& table, Finish finish);

  Status Parse(std::string_view json, AppendOrder& order) const;
  void Render(const RunIdentity& run, const Event& event, std::vector<std::string>& out) const;
  std::optional<NamedPayload> RenderPayload(const RunIdentity& run, const Event& event) const;

  std::vector<DocumentShape> Shapes() const;
  std::vector<std::string> NamesOf(EventType type) const;

 private:
  // The rules for one form of a document.
  struct Form {
    std::vector<FieldRule> fields;
    std::vector<Refusal> refusals;
    ObjectRule rule;
    std::unique_ptr<FieldCheck> check;
  };
  struct Entry {
    std::string_view name;
    std::vector<const EventRow*> rows;
    std::vector<std::string_view> statuses;
    Form form;
    std::unique_ptr<Form> flat;
  };

  void Compile(Entry& entry) const;
  FieldRule RuleFor(const Entry& entry, FieldRule rule) const;
  const EventRow& Select(const Entry& entry, const Findings& findings) const;
  Error Unknown(std::string_view name) const;
  bool IsFlat(const Entry& entry, simdjson::dom::object document) const;
  void Lift(std::string_view json, EventWrite& write) const;

  DialectTable table_;
  Finish finish_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string_view, const Entry*> by_name_;
  std::vector<std::string_view> lifted_names_;
};

}  // namespace everstep
