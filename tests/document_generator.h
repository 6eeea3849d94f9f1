#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/random.h"
#include "event/document_shape.h"

namespace everstep {

// Makes documents of an event from the rules they are checked against: such as fit, and such as
// mostly do not. The same seed makes the same documents.
class DocumentGenerator {
 public:
  explicit DocumentGenerator(std::uint64_t seed) : random_(seed) {}

  // Fits the shape. Members that have to agree with each other do.
  std::string Fitting(const DocumentShape& shape);
  // Up to three things are done to it that may make it unfit. The member `type_member`, by which
  // the rules are found, is left alone unless it is the only one that suffers.
  std::string Damaged(const DocumentShape& shape, std::string_view type_member);

 private:
  std::string Document(const DocumentShape& shape);
  void WriteObject(const ObjectRule& rule, bool is_root, JsonWriter& writer);
  void WriteField(const FieldRule& rule, JsonWriter& writer);
  void WriteDamaged(const FieldRule& rule, JsonWriter& writer);
  void WriteItems(const FieldRule& rule, JsonWriter& writer);
  void WriteAny(int depth, JsonWriter& writer);
  std::string TextFor(const FieldRule& rule);
  std::string DamagedText(const FieldRule& rule);
  std::string NameOf(std::size_t characters);
  bool DamageNow();

  template <std::size_t kSize>
  std::string_view OneOf(const std::string_view (&choices)[kSize]) {
    return choices[random_.Below(kSize)];
  }

  SeededRandom random_;
  std::string entity_;
  std::string_view type_member_;
  int damage_left_ = 0;
};

}  // namespace everstep
