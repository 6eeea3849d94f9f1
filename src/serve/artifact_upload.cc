#include "serve/artifact_upload.h"

#include <string>

#include "store/free_space.h"

namespace everstep {

void ArtifactUpload::Begin() {
  if (call_->streamed_body() == nullptr) return WorkLater();
  call_->streamed_body()->OnChange([self = shared_from_this()] { self->WorkLater(); });
}

void ArtifactUpload::WorkLater() {
  api_.RunOnPool(call_->party(), [self = shared_from_this()] { self->Work(); });
}

void ArtifactUpload::Work() {
  RequestBody::Piece piece{{}, RequestBody::State::kWhole};
  if (const auto& body = call_->streamed_body(); body != nullptr) piece = body->Take();
  if (piece.state == RequestBody::State::kBroken) return writer_.reset();
  const bool whole = piece.state == RequestBody::State::kWhole;
  if (piece.bytes.empty() && !whole) return;
  if (const Status written = Write(piece.bytes); !written) {
    writer_.reset();
    return call_->Fail(written.error());
  }
  if (whole) return Finish();
  // Queue the next piece instead of looping, so that others get their turn on the pool.
  WorkLater();
}

Status ArtifactUpload::Write(std::string_view bytes) {
  if (writer_ == nullptr) {
    auto writer = api_.artifacts().NewWriter();
    if (!writer) return writer.error();
    writer_ = *std::move(writer);
  }
  if (const Status room = CheckRoom(bytes.size()); !room) return room;
  taken_ += bytes.size();
  return writer_->Append(bytes);
}

// Checked for every piece: parallel uploads may have used the remaining space.
Status ArtifactUpload::CheckRoom(std::uint64_t bytes) const {
  if (!call_->May(Permission::kTenantAny)) {
    const Status own = api_.tenant_storage().Check(call_->tenant(), taken_ + bytes);
    if (!own) return own;
  }
  const std::string& directory = api_.artifacts().directory();
  const std::uint64_t free = FreeBytesOf(directory).value_or(UINT64_MAX);
  const std::uint64_t reserve = api_.options().free_bytes_min;
  if (free >= reserve && free - reserve >= bytes) return Ok();
  return Error{ErrorCode::kStoreFull,
               "the disk has " + std::to_string(free) + " bytes free and " +
                   std::to_string(reserve) + " must stay free",
               {}};
}

void ArtifactUpload::Finish() {
  // Claim the key before storing the artifact: a refused request must leave nothing behind.
  if (!api_.ClaimIdempotencyKey(*call_, writer_->Seal())) return;
  const auto stored = writer_->Finish(std::move(label_));
  if (!stored) return call_->Fail(stored.error());
  if (const Status noted = api_.artifact_owners().Add(call_->tenant(), *stored); !noted) {
    return call_->Fail(noted.error());
  }
  call_->Json(201, ToJson(stored->ToValue()), {{"Location", "/v1/artifacts/" + stored->sha256}});
}

}  // namespace everstep
