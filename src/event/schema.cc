#include "event/schema.h"

#include "base/json.h"
#include "event/document_shape.h"
#include "event/field_rule.h"

namespace everstep {
namespace {

constexpr std::string_view kDraft = "https://json-schema.org/draft/2020-12/schema";
constexpr std::string_view kBase = "https://everstep.dev/schemas/";

constexpr std::string_view kIdentifierPattern = "^[A-Za-z0-9][A-Za-z0-9._:-]*$";
constexpr std::string_view kNamePattern = "^[^|\\u0000-\\u001f\\u007f-\\u009f]*$";
constexpr std::string_view kSha256Pattern = "^[0-9a-f]{64}$";
constexpr std::string_view kUuidPattern =
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$";
// RFC 3339 with valid days only; 29 February only in leap years.
constexpr std::string_view kTimestampPattern =
    "^(?:"
    "[0-9]{4}-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|"
    "[0-9]{4}-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"
    "[0-9]{4}-02-(?:0[1-9]|1[0-9]|2[0-8])|"
    "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29"
    ")T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?"
    "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$";

void WriteObject(const ObjectRule& rule, JsonWriter& writer);

void WriteLengths(const FieldRule& rule, JsonWriter& writer) {
  if (rule.length_min > 0) writer.Member("minLength", std::uint64_t{rule.length_min});
  writer.Member("maxLength", std::uint64_t{rule.length_max});
}

void WriteString(std::string_view pattern, JsonWriter& writer) {
  writer.Member("type", "string");
  writer.Member("pattern", pattern);
}

void WriteWords(const FieldRule& rule, JsonWriter& writer) {
  writer.Key("enum");
  writer.BeginArray();
  for (const std::string_view word : rule.words) writer.String(word);
  writer.EndArray();
}

void WriteInteger(const FieldRule& rule, JsonWriter& writer) {
  writer.Member("type", "integer");
  writer.Key("minimum");
  writer.Int(rule.min);
  writer.Key("maximum");
  writer.Int(rule.max);
}

void WriteItems(const FieldRule& rule, JsonWriter& writer) {
  writer.Member("type", "array");
  writer.Key("items");
  writer.BeginObject();
  if (rule.object != nullptr) {
    WriteObject(*rule.object, writer);
  } else {
    writer.Member("type", "string");
  }
  writer.EndObject();
}

void WriteKind(const FieldRule& rule, JsonWriter& writer) {
  switch (rule.kind) {
    case FieldKind::kIdentifier:
      WriteString(kIdentifierPattern, writer);
      return WriteLengths(rule, writer);
    case FieldKind::kName:
      WriteString(kNamePattern, writer);
      return WriteLengths(rule, writer);
    case FieldKind::kText:
      writer.Member("type", "string");
      return WriteLengths(rule, writer);
    case FieldKind::kWord:
      return WriteWords(rule, writer);
    case FieldKind::kInteger:
      return WriteInteger(rule, writer);
    case FieldKind::kNumber:
      return writer.Member("type", "number");
    case FieldKind::kBoolean:
      return writer.Member("type", "boolean");
    case FieldKind::kTimestamp:
      WriteString(kTimestampPattern, writer);
      return writer.Member("format", "date-time");
    case FieldKind::kSha256:
      return WriteString(kSha256Pattern, writer);
    case FieldKind::kUuid:
      return WriteString(kUuidPattern, writer);
    case FieldKind::kRecord:
      return writer.Member("type", "object");
    case FieldKind::kObject:
      return WriteObject(*rule.object, writer);
    case FieldKind::kObjectArray:
    case FieldKind::kTextArray:
      return WriteItems(rule, writer);
    case FieldKind::kAny:
      return;
  }
}

// Writes the keywords of an object schema into an already open object.
void WriteObject(const ObjectRule& rule, JsonWriter& writer) {
  writer.Member("type", "object");
  writer.Key("properties");
  writer.BeginObject();
  bool any_required = false;
  for (const FieldRule& field : rule.fields) {
    any_required |= field.required;
    writer.Key(field.name);
    writer.BeginObject();
    if (!field.meaning.empty()) writer.Member("description", field.meaning);
    WriteKind(field, writer);
    writer.EndObject();
  }
  writer.EndObject();
  if (any_required) {
    writer.Key("required");
    writer.BeginArray();
    for (const FieldRule& field : rule.fields) {
      if (field.required) writer.String(field.name);
    }
    writer.EndArray();
  }
  if (!rule.additional) writer.Member("additionalProperties", false);
}

void WriteMarks(const DocumentShape& shape, JsonWriter& writer) {
  writer.Key("if");
  writer.BeginObject();
  writer.Key("anyOf");
  writer.BeginArray();
  for (const std::string_view mark : shape.marks) {
    writer.BeginObject();
    writer.Key("required");
    writer.BeginArray();
    writer.String(mark);
    writer.EndArray();
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
}

void WriteShape(const DocumentShape& shape, JsonWriter& writer) {
  if (shape.marked == nullptr) return WriteObject(*shape.rule, writer);
  writer.Member("type", "object");
  WriteMarks(shape, writer);
  writer.Key("then");
  writer.BeginObject();
  WriteObject(*shape.marked, writer);
  writer.EndObject();
  writer.Key("else");
  writer.BeginObject();
  WriteObject(*shape.rule, writer);
  writer.EndObject();
}

// Indents the output of JsonWriter by two spaces per level; empty objects stay on one line.
std::string Indented(std::string_view json) {
  std::string out;
  std::size_t depth = 0;
  bool in_string = false;
  const auto break_line = [&] { out.append("\n").append(2 * depth, ' '); };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      out.push_back(c);
      if (c == '\\') out.push_back(json[++i]);
      if (c == '"') in_string = false;
      continue;
    }
    in_string = c == '"';
    const bool opens = c == '{' || c == '[';
    const bool closes = c == '}' || c == ']';
    const bool empty = closes && (json[i - 1] == '{' || json[i - 1] == '[');
    if (closes) --depth;
    if (closes && !empty) break_line();
    out.push_back(c);
    if (opens) ++depth;
    if (c == ',' || (opens && json[i + 1] != '}' && json[i + 1] != ']')) break_line();
    if (c == ':') out.push_back(' ');
  }
  return out + "\n";
}

}  // namespace

std::vector<SchemaDocument> ListSchemas() {
  std::vector<SchemaDocument> schemas;
  for (const Dialect dialect : WritableDialects()) {
    for (const DocumentShape& shape : DocumentShapes(dialect)) {
      const std::string path =
          std::string(Name(dialect)) + "/" + std::string(shape.name) + ".schema.json";
      std::string json;
      JsonWriter writer(json);
      writer.BeginObject();
      writer.Member("$schema", kDraft);
      writer.Member("$id", std::string(kBase) + path);
      writer.Member("title", std::string(shape.name) + " (" + std::string(Name(dialect)) + ")");
      writer.Member("description", shape.meaning);
      WriteShape(shape, writer);
      writer.EndObject();
      schemas.push_back({dialect, shape.name, path, Indented(json)});
    }
  }
  return schemas;
}

}  // namespace everstep
