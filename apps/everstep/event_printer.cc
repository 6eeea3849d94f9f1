#include "event_printer.h"

#include <string>

#include "json_layout.h"
#include "native_event.h"
#include "snapshot_text.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kRowsAtOnce = 500;

Colour ColourOfType(std::string_view type) {
  if (type.ends_with("Failed") || type.starts_with("Error")) return Colour::kRed;
  if (type.ends_with("Completed")) return Colour::kGreen;
  return Colour::kPlain;
}

}  // namespace

EventPrinter::EventPrinter(OutputForm form, bool native, Output& out)
    : form_(form),
      native_(native),
      out_(out),
      table_(native ? std::vector<std::string_view>{"SEQ", "PERSISTED", "RUN", "EVENT", "ENTITY",
                                                    "ATTEMPT", "DETAIL"}
                    : std::vector<std::string_view>{"SEQ", "EVENT", "VIEW"}) {}

void EventPrinter::Print(const LogEvent& event) {
  switch (form_) {
    case OutputForm::kNdjson:
      out_.Write(event.json + "\n");
      break;
    case OutputForm::kJson:
      out_.Write((empty_ ? "[" : ",\n ") + event.json);
      break;
    case OutputForm::kYaml:
      out_.Write(YamlOf("[" + event.json + "]"));
      break;
    case OutputForm::kTable:
      AddRow(event);
      break;
  }
  empty_ = false;
}

void EventPrinter::AddRow(const LogEvent& event) {
  const std::string seq = std::to_string(event.run_seq);
  if (native_) {
    const NativeEvent native = ReadNative(event);
    table_.Add({seq, TimeText(native.persisted_at), native.run_id,
                Cell(native.type, ColourOfType(native.type)), native.entity,
                std::to_string(native.attempt), DetailOf(native)});
  } else {
    table_.Add({seq, event.type, event.json});
  }
  if (table_.rows() >= kRowsAtOnce) out_.Write(table_.TakeText(out_.look()));
}

void EventPrinter::Flush() {
  if (form_ == OutputForm::kTable && table_.rows() > 0) out_.Write(table_.TakeText(out_.look()));
  out_.Flush();
}

void EventPrinter::Finish() {
  if (form_ == OutputForm::kJson) out_.Write(empty_ ? "[]\n" : "]\n");
  if (form_ == OutputForm::kYaml && empty_) out_.Write("[]\n");
  if (form_ == OutputForm::kTable && (table_.rows() > 0 || empty_)) {
    out_.Write(table_.TakeText(out_.look()));
  }
}

}  // namespace everstep::cli
