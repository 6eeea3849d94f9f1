// Requests with streamed bodies: the handler gets the request before the body, and takes the body
// as it arrives. Nothing else is read from the connection meanwhile, so the upload is the last
// slot.

#include <utility>

#include "net/io_loop.h"
#include "net/server_connection.h"

namespace everstep {

using Connection = HttpCall::Connection;

// Like others, the request counts as in flight only after its body has arrived, so that slow
// senders hold up nobody.
void Connection::BeginUpload() {
  Slot& slot = slots_.emplace_back();
  slot.http_1_0 = reader_.facts().http_1_0;
  slot.claim = body_claim();
  slot.body = upload_ = std::make_shared<ServerBody>(state_->options.upload_bytes_max,
                                                     [connection = weak_from_this()] {
                                                       if (const auto self = connection.lock())
                                                         self->TellOfRoom();
                                                     });
  LoopCounters::Add(loop_.counters().requests);
  ServerRequest request = reader_.TakeHead();
  if (!HasMemory(request, slot.claim)) return Refuse(kOverloaded);
  state_->handler.Handle(HttpCall(std::move(request), shared_from_this(), last_number(), upload_));
}

bool Connection::ReadUpload(std::string_view& bytes) {
  const std::shared_ptr<ServerBody> body = upload_;
  const bool keep_alive = reader_.facts().keep_alive;
  std::string piece;
  const BodyDecoder::Outcome outcome = reader_.ReadPiece(bytes, body->Room(), piece);
  if (!piece.empty()) body->Write(std::move(piece));
  // The taker may have answered.
  if (upload_ == nullptr) return false;
  switch (outcome) {
    case BodyDecoder::Outcome::kRefused:
      LoopCounters::Add(loop_.counters().malformed);
      Refuse(reader_.refusal());
      return false;
    case BodyDecoder::Outcome::kMore:
      return false;
    case BodyDecoder::Outcome::kFull:
      upload_full_ = body->Room() == 0;
      return !upload_full_;
    case BodyDecoder::Outcome::kDone:
      break;
  }
  const bool draining = state_->draining.load(std::memory_order_relaxed);
  FinishUpload(!keep_alive || (bytes.empty() && draining));
  return !bytes.empty();
}

void Connection::FinishUpload(bool last) {
  const std::shared_ptr<ServerBody> body = std::move(upload_);
  if (last) stop_reading_ = true;
  slots_.back().in_flight = true;
  state_->in_flight.fetch_add(1);
  body->End();
}

void Connection::DropUpload() {
  const std::shared_ptr<ServerBody> body = std::move(upload_);
  stop_reading_ = true;
  upload_full_ = false;
  slots_.back().body.reset();
  body->Break();
}

bool Connection::awaits_body() const {
  const std::size_t others = slots_.size() - (upload_ != nullptr ? 1 : 0);
  return reader_.in_body() && !stop_reading_ && others == 0;
}

// Posted even on the loop's thread, because the taker may have been called by this connection.
void Connection::TellOfRoom() {
  inbox_->Post({.kind = LoopPost::Kind::kBodyRoom,
                .connection = shared_from_this(),
                .number = 0,
                .answer = {},
                .sent = 0,
                .socket = {},
                .peer_address = {}});
}

void Connection::OnRoomForBody() {
  upload_full_ = false;
  Resume();
}

}  // namespace everstep
