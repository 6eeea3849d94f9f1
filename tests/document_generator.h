#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/random.h"
#include "event/document_shape.h"

namespace everstep {

// Generates documents of an event from the rules they are checked against: valid ones, and mostly
// invalid ones. The same seed generates the same documents.
class DocumentGenerator {
 public:
  explicit DocumentGenerator(std::uint64_t seed) : random_(seed) {}

  // A valid document. Members that have to agree with each other do.
  std::string Fitting(const DocumentShape& shape);
  // A valid document with up to three changes that may make it invalid. The member `type_member`,
  // which selects the rules, is left alone unless it is the only one that is changed.
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
