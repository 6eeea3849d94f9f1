#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "serve/api.h"
#include "work/artifact_store.h"

namespace everstep {

// Streams the body of a call into the artifact store and answers the call. Works on the pool, one
// piece at a time; no thread is held while waiting for the client. An incomplete body leaves
// nothing behind.
class ArtifactUpload : public std::enable_shared_from_this<ArtifactUpload> {
 public:
  ArtifactUpload(Api& api, CallPtr call, ArtifactLabel label)
      : api_(api), call_(std::move(call)), label_(std::move(label)) {}

  // Must be called on the io thread. Keeps itself alive until done.
  void Begin();

 private:
  void WorkLater();
  void Work();
  Status Write(std::string_view bytes);
  Status CheckRoom(std::uint64_t bytes) const;
  void Finish();

  Api& api_;
  const CallPtr call_;
  ArtifactLabel label_;
  std::unique_ptr<ArtifactStore::Writer> writer_;  // null until the first bytes arrive
  std::uint64_t taken_ = 0;                        // bytes
};

}  // namespace everstep
