#include "tests/document_generator.h"

#include "base/uuid.h"

namespace everstep {
namespace {

constexpr std::string_view kTimes[] = {
    "2026-02-11T10:30:00.000Z",  "2026-02-11T10:30:00Z",        "2024-02-29T23:59:59.999999999Z",
    "2000-02-29T00:00:00+23:59", "2026-12-31T00:00:00.1-05:30", "0000-02-29T00:00:00Z",
    "9999-12-31T23:59:59Z",      "2026-04-30T12:00:00.123456Z",
};
constexpr std::string_view kWrongTimes[] = {
    "2026-02-30T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00",
    "2026-01-01t00:00:00Z",
    "2026-01-01T00:00:00z",
    "2026-01-01 00:00:00Z",
    "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00.0123456789Z",
    "2026-01-01T00:00:00+24:00",
    "2026-01-01T00:00:00+0100",
    "2026-01-01T00:00:00Z\n",
    "26-01-01T00:00:00Z",
    "2026-1-1T00:00:00Z",
    " 2026-01-01T00:00:00Z",
    "yesterday",
    "",
};
constexpr std::string_view kNumbers[] = {"0",   "1",  "1.0",  "1e0", "10e-1", "2.0E0",
                                         "1.5", "-1", "-0.0", "3",   "100",   "4294967295"};
constexpr std::string_view kWrongNumbers[] = {
    "-1",        "-1.0",  "0.5",  "1e300", "4294967296",          "4294967296.0",
    "1.0000001", "-1e18", "1e19", "true",  "9223372036854775808", "18446744073709551615",
    "\"1\"",     "null"};
constexpr std::string_view kOtherTypes[] = {"null", "true", "17",          "-2.5",        "\"\"",
                                            "[]",   "{}",   "[{\"a\":1}]", "{\"code\":7}"};

std::string_view SlotText(Slot slot) {
  switch (slot) {
    case Slot::kTenantId:
    case Slot::kContextTenantId:
      return "acme";
    case Slot::kProjectId:
    case Slot::kContextProjectId:
      return "marketing";
    case Slot::kEnvironmentId:
    case Slot::kContextEnvironmentId:
      return "prod";
    case Slot::kPlanId:
    case Slot::kContextPlanId:
      return "plan xyz";
    case Slot::kPlanVersion:
    case Slot::kContextPlanVersion:
      return "1.2";
    default:
      return {};
  }
}

}  // namespace

std::string DocumentGenerator::Fitting(const DocumentShape& shape) {
  damage_left_ = 0;
  return Document(shape);
}

std::string DocumentGenerator::Damaged(const DocumentShape& shape, std::string_view type_member) {
  damage_left_ = static_cast<int>(1 + random_.Below(3));
  type_member_ = type_member;
  if (random_.OneIn(50)) {
    damage_left_ = 0;
    std::string document = Document(shape);
    const std::string name = JsonQuote(type_member) + ":" + JsonQuote(shape.name);
    const std::size_t at = document.find(name);
    if (at == std::string::npos) return document;
    const bool renamed = random_.OneIn(2);
    return document.replace(at, name.size(),
                            JsonQuote(type_member) + ":" + (renamed ? "\"Nonsense\"" : "17"));
  }
  return Document(shape);
}

std::string DocumentGenerator::Document(const DocumentShape& shape) {
  entity_ = "entity-" + std::to_string(random_.Below(1000));
  const bool marked = shape.marked != nullptr && random_.OneIn(2);
  std::string json;
  JsonWriter writer(json);
  WriteObject(marked ? *shape.marked : *shape.rule, true, writer);
  return json;
}

bool DocumentGenerator::DamageNow() {
  if (damage_left_ == 0 || !random_.OneIn(8)) return false;
  --damage_left_;
  return true;
}

void DocumentGenerator::WriteObject(const ObjectRule& rule, bool is_root, JsonWriter& writer) {
  writer.BeginObject();
  for (const FieldRule& field : rule.fields) {
    if (is_root && field.name == type_member_) {
      WriteField(field, writer);
      continue;
    }
    const bool damage = DamageNow();
    if (damage && random_.OneIn(4)) continue;
    if (!damage && !field.required && random_.OneIn(2)) continue;
    damage ? WriteDamaged(field, writer) : WriteField(field, writer);
  }
  const bool stray = rule.additional ? random_.OneIn(3) : DamageNow();
  if (stray) {
    constexpr std::string_view kNames[] = {"x", "run_id", "a/b~c", "RunId", "runSeq", "", "zahl€"};
    writer.Key(OneOf(kNames));
    WriteAny(2, writer);
  }
  writer.EndObject();
}

void DocumentGenerator::WriteField(const FieldRule& rule, JsonWriter& writer) {
  writer.Key(rule.name);
  switch (rule.kind) {
    case FieldKind::kInteger:
      if (rule.max == 2) return writer.Raw(random_.OneIn(2) ? "2.0" : "1");
      return writer.Raw(random_.OneIn(3) ? "1.0" : std::to_string(1 + random_.Below(99)));
    case FieldKind::kNumber:
      return writer.Raw(OneOf(kNumbers));
    case FieldKind::kBoolean:
      return writer.Bool(random_.OneIn(2));
    case FieldKind::kRecord:
      writer.BeginObject();
      writer.Key("free");
      WriteAny(2, writer);
      return writer.EndObject();
    case FieldKind::kObject:
      return WriteObject(*rule.object, false, writer);
    case FieldKind::kObjectArray:
    case FieldKind::kTextArray:
      return WriteItems(rule, writer);
    case FieldKind::kAny:
      return WriteAny(2, writer);
    default:
      return writer.String(TextFor(rule));
  }
}

void DocumentGenerator::WriteItems(const FieldRule& rule, JsonWriter& writer) {
  writer.BeginArray();
  for (std::uint64_t count = random_.Below(4); count > 0; --count) {
    if (DamageNow()) {
      writer.Raw(OneOf(kOtherTypes));
    } else if (rule.object != nullptr) {
      WriteObject(*rule.object, false, writer);
    } else {
      writer.String("arn:aws:states");
    }
  }
  writer.EndArray();
}

void DocumentGenerator::WriteAny(int depth, JsonWriter& writer) {
  switch (random_.Below(depth > 0 ? 7 : 5)) {
    case 0:
      return writer.Null();
    case 1:
      return writer.Bool(true);
    case 2:
      return writer.Raw(OneOf(kNumbers));
    case 3:
      return writer.String("a \"quoted\" text \\ with } and ] and é€");
    case 4:
      return writer.Raw("{}");
    case 5:
      writer.BeginArray();
      WriteAny(depth - 1, writer);
      WriteAny(depth - 1, writer);
      return writer.EndArray();
    default:
      writer.BeginObject();
      writer.Key("message");
      WriteAny(depth - 1, writer);
      writer.Key("code");
      WriteAny(depth - 1, writer);
      return writer.EndObject();
  }
}

std::string DocumentGenerator::NameOf(std::size_t characters) {
  constexpr std::string_view kCharacters[] = {"a", "Z", "9", "_", "x", "é", "€", "😀"};
  std::string name;
  while (characters-- > 0) name += OneOf(kCharacters);
  return name;
}

std::string DocumentGenerator::TextFor(const FieldRule& rule) {
  if (rule.slot == Slot::kEntityId || rule.slot == Slot::kSignalId) return entity_;
  if (const std::string_view fixed = SlotText(rule.slot); !fixed.empty()) return std::string(fixed);
  const std::size_t length = random_.OneIn(8) ? rule.length_max : 1 + random_.Below(12);
  switch (rule.kind) {
    case FieldKind::kIdentifier:
      return std::string(length, 'r');
    case FieldKind::kName:
    case FieldKind::kText:
      return NameOf(length);
    case FieldKind::kWord:
      return std::string(rule.words[random_.Below(rule.words.size())]);
    case FieldKind::kTimestamp:
      return std::string(OneOf(kTimes));
    case FieldKind::kSha256:
      return std::string(64, "0123456789abcdef"[random_.Below(16)]);
    default:
      return NewUuid(random_);
  }
}

std::string DocumentGenerator::DamagedText(const FieldRule& rule) {
  switch (rule.kind) {
    case FieldKind::kIdentifier: {
      constexpr std::string_view kWrong[] = {"",    "-a", "a b", "a|b", "ä",
                                             "a\n", ".x", "a/b", "a\tb"};
      return random_.OneIn(3) ? std::string(rule.length_max + 1, 'r') : std::string(OneOf(kWrong));
    }
    case FieldKind::kName: {
      constexpr std::string_view kWrong[] = {"",       "a|b",         "a\nb", "\x01", "a\x7f",
                                             "\u0085", "\u009f tail", "a\n",  "|"};
      return random_.OneIn(3) ? NameOf(rule.length_max + 1) : std::string(OneOf(kWrong));
    }
    case FieldKind::kText:
      return random_.OneIn(3) ? std::string() : NameOf(rule.length_max + 1);
    case FieldKind::kWord:
      return std::string(rule.words.front()) + (random_.OneIn(2) ? "x" : "\n");
    case FieldKind::kTimestamp:
      return std::string(OneOf(kWrongTimes));
    case FieldKind::kSha256: {
      constexpr std::size_t kLengths[] = {0, 63, 65};
      return random_.OneIn(2) ? std::string(64, 'A') : std::string(kLengths[random_.Below(3)], 'a');
    }
    default: {
      std::string uuid = NewUuid(random_);
      uuid[random_.Below(uuid.size())] = 'g';
      return random_.OneIn(3) ? "01234567-89ab-cdef-0123-456789abcdef" : uuid;
    }
  }
}

void DocumentGenerator::WriteDamaged(const FieldRule& rule, JsonWriter& writer) {
  writer.Key(rule.name);
  if (random_.OneIn(3)) return writer.Raw(OneOf(kOtherTypes));
  switch (rule.kind) {
    case FieldKind::kInteger:
      return writer.Raw(OneOf(kWrongNumbers));
    case FieldKind::kNumber:
    case FieldKind::kBoolean:
    case FieldKind::kRecord:
    case FieldKind::kTextArray:
    case FieldKind::kAny:
      return writer.Raw(OneOf(kOtherTypes));
    case FieldKind::kObject:
    case FieldKind::kObjectArray:
      return writer.Raw(random_.OneIn(2) ? "\"object\"" : "[1,{}]");
    default:
      return writer.String(DamagedText(rule));
  }
}

}  // namespace everstep
