#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "net/content_coding.h"
#include "net/http_server.h"
#include "net/response_head.h"
#include "net/server_connection.h"

namespace everstep {
namespace {

// Smaller answers are charged by their connections only.
constexpr std::size_t kSmallAnswer = 16 << 10;

// The writer's end of a stream.
class StreamWriter final : public ReplyStream {
 public:
  StreamWriter(std::shared_ptr<HttpCall::Connection> connection,
               std::shared_ptr<ServerStream> stream)
      : connection_(std::move(connection)), stream_(std::move(stream)) {}
  ~StreamWriter() override {
    bool wake = false;
    stream_->Abandon(wake);
    Notify(wake);
  }
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  bool Write(std::string_view piece) override {
    bool wake = false;
    const bool taken = stream_->Write(piece, wake);
    Notify(wake);
    return taken;
  }
  std::size_t queued() const override { return stream_->queued(); }
  void OnChange(std::function<void()> changed) override {
    bool wake = false;
    stream_->OnChange(std::move(changed), wake);
    Notify(wake);
  }
  bool closed() const override { return stream_->closed(); }
  void End() override {
    bool wake = false;
    stream_->End(wake);
    Notify(wake);
  }

 private:
  void Notify(bool wake) {
    if (wake) connection_->TellOfStream(stream_);
  }

  const std::shared_ptr<HttpCall::Connection> connection_;
  const std::shared_ptr<ServerStream> stream_;
};

}  // namespace

std::string_view ServerRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

HttpCall::HttpCall(ServerRequest request, std::shared_ptr<Connection> connection,
                   std::uint64_t number, std::shared_ptr<RequestBody> body,
                   MemoryCharge body_charge)
    : request_(std::move(request)),
      connection_(std::move(connection)),
      number_(number),
      body_(std::move(body)),
      head_only_(request_.method == "HEAD"),
      accepts_gzip_(AcceptsGzip(request_.Header("accept-encoding"))),
      holder_(connection_->holder()),
      body_charge_(std::move(body_charge)) {}

HttpCall::HttpCall(HttpCall&&) noexcept = default;

HttpCall& HttpCall::operator=(HttpCall&& other) noexcept {
  std::swap(request_, other.request_);
  std::swap(connection_, other.connection_);
  std::swap(number_, other.number_);
  std::swap(body_, other.body_);
  std::swap(head_only_, other.head_only_);
  std::swap(accepts_gzip_, other.accepts_gzip_);
  std::swap(holder_, other.holder_);
  std::swap(body_charge_, other.body_charge_);
  std::swap(charge_, other.charge_);
  std::swap(answer_charge_, other.answer_charge_);
  return *this;
}

HttpCall::~HttpCall() {
  if (connection_ == nullptr) return;
  Reply(ProblemResponse({500, "INTERNAL_ERROR", "the request was not answered"}));
}

HttpCall::Vouched HttpCall::Vouch(const ClientName& client) {
  EVERSTEP_ASSERT(connection_ != nullptr);
  const Vouched vouched = connection_->Vouch(client);
  holder_ = connection_->holder();
  body_charge_.MoveTo(holder_);
  return vouched;
}

MemoryCharge::Outcome HttpCall::Charge(std::size_t bytes, MemoryClaim claim) {
  EVERSTEP_ASSERT(connection_ != nullptr);
  return charge_.TakeParsed(connection_->memory(), claim, holder_, bytes, body_charge_.bytes());
}

bool HttpCall::ReserveAnswer(std::size_t bytes) {
  return ChargeAnswer(std::min(bytes, connection_->memory()->ReserveMax()));
}

bool HttpCall::ChargeAnswer(std::size_t bytes) {
  EVERSTEP_ASSERT(connection_ != nullptr);
  if (bytes > kSmallAnswer) return answer_charge_.TakeAnswer(connection_->memory(), holder_, bytes);
  answer_charge_.Release();
  return true;
}

bool HttpCall::is_abandoned() const {
  EVERSTEP_ASSERT(connection_ != nullptr);
  return connection_->is_gone();
}

void HttpCall::AnswerBy(std::unique_ptr<AnswerWork> work) const {
  EVERSTEP_ASSERT(connection_ != nullptr);
  connection_->AnswerBy(number_, std::move(work));
}

void HttpCall::Reply(ServerResponse response) {
  EVERSTEP_ASSERT(connection_ != nullptr);
  const std::shared_ptr<Connection> connection = std::move(connection_);
  charge_.Release();
  CompressResponse(response, accepts_gzip_, connection->gzip_bytes_min());
  answer_charge_.Release();
  if (response.body.size() > kSmallAnswer) {
    answer_charge_.HoldAnswer(connection->memory(), holder_, response.body.size());
  }
  connection->Answer(number_,
                     {std::move(response), nullptr, head_only_, std::move(answer_charge_)});
}

std::shared_ptr<ReplyStream> HttpCall::Stream(ServerResponse head) {
  EVERSTEP_ASSERT(connection_ != nullptr);
  const std::shared_ptr<Connection> connection = std::move(connection_);
  charge_.Release();
  answer_charge_.Release();
  auto stream = std::make_shared<ServerStream>(connection->stream_bytes_max());
  connection->Answer(number_, {std::move(head), stream, head_only_, {}});
  return std::make_shared<StreamWriter>(connection, std::move(stream));
}

}  // namespace everstep
