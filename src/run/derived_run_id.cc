#include "run/derived_run_id.h"

#include "base/sha256.h"

namespace everstep {
namespace {

RunId UuidOf(const std::string& text, char version) {
  const std::string hex = ToHex(Sha256(text));
  return RunId(hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + version + hex.substr(13, 3) +
               "-a" + hex.substr(17, 3) + "-" + hex.substr(20, 12));
}

}  // namespace

RunId DerivedRunId(const std::string& text) { return UuidOf(text, '8'); }

RunId FormerDerivedRunId(const std::string& text) { return UuidOf(text, '4'); }

}  // namespace everstep
