#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/result.h"
#include "net/http_message.h"
#include "net/memory_charge.h"
#include "net/tenant_account.h"

namespace everstep {

// A request as received.
struct ServerRequest {
  std::string method;        // GET …
  std::string path;          // as sent, still percent-encoded; begins with "/"
  std::string query;         // after the "?", as sent; may be empty
  HttpHeaders headers;       // names in lower case
  std::string body;          // decoded: neither chunked nor compressed; empty if it is streamed
  std::string peer_address;  // "127.0.0.1", "::1"
  bool secure = false;       // received over TLS

  // Returns the first header of that name (lower case), or an empty text.
  std::string_view Header(std::string_view name) const;
};

struct ServerResponse {
  int status = 200;
  HttpHeaders headers;  // the server sets Content-Length, Connection, Date, Content-Encoding
  std::string body;
  // In place of `body`, a text that many answers share. Sent as it is, never compressed here.
  std::shared_ptr<const std::string> shared_body{};

  std::string_view Body() const { return shared_body != nullptr ? *shared_body : body; }
};

// An answer that is written piece by piece (chunked). Thread-safe.
class ReplyStream {
 public:
  virtual ~ReplyStream() = default;
  // Returns false if the client has disconnected, or was cut off because it reads too slowly.
  virtual bool Write(std::string_view piece) = 0;
  // Bytes that the client has not received yet. Before writing much more, wait until it is small.
  virtual std::size_t queued() const = 0;
  // Sets a function that is called on an io thread whenever the queue becomes empty, and once when
  // the client is gone. It must not block. Must be called before the first Write.
  virtual void OnChange(std::function<void()> changed) = 0;
  virtual bool closed() const = 0;
  virtual void End() = 0;
};

// The body of a request while it arrives. The socket is read only a little ahead of the taker.
// Thread-safe, except that only one thread at a time may take.
class RequestBody {
 public:
  enum class State : std::uint8_t {
    kComing,
    kWhole,   // the end has arrived: what was taken is all
    kBroken,  // the end will never arrive: the call was answered, or the client is gone
  };
  struct Piece {
    std::string bytes;  // decoded: neither chunked nor compressed
    State state = State::kComing;
  };

  virtual ~RequestBody() = default;
  // Returns what has arrived since the last call. The bytes of the last call count as processed.
  // Never waits.
  virtual Piece Take() = 0;
  // Sets a function that is called on an io thread, or by OnChange itself, when there is something
  // to take. It is called once, until a Take has returned no bytes. It must not block.
  virtual void OnChange(std::function<void()> changed) = 0;
};

// Work that makes an answer; see HttpCall::AnswerBy.
class AnswerWork {
 public:
  virtual ~AnswerWork() = default;
  virtual void Answer() = 0;
};

// A request and the means to answer it. May be moved to any thread. Answered with 500 if it is
// destroyed unanswered.
class HttpCall {
 public:
  class Connection;  // of the server
  HttpCall(ServerRequest request, std::shared_ptr<Connection> connection, std::uint64_t number,
           std::shared_ptr<RequestBody> body = nullptr, MemoryCharge body_charge = {});
  HttpCall(HttpCall&&) noexcept;
  HttpCall& operator=(HttpCall&&) noexcept;
  ~HttpCall();

  ServerRequest& request() { return request_; }
  const ServerRequest& request() const { return request_; }
  // The body if it is streamed, null if it is part of the request. An answer before the end of the
  // body closes the connection.
  const std::shared_ptr<RequestBody>& body() const { return body_; }

  enum class Vouched : std::uint8_t {
    kTaken,
    kNoConnection,  // its tenant has reached its limit of connections
    kNoMemory,      // its tenant has used up its share of the memory
  };
  // Declares that the client is authenticated. Its connection is no longer closed to make room for
  // others, and its memory is charged to its tenant. Unless the result is kTaken, answer with a
  // refusal. Must be called on the thread of HttpHandler::Handle, before the call is answered.
  Vouched Vouch(const ClientName& client);
  // Charges memory to the server's account until the call is answered, in addition to that of the
  // body, which is charged as long as the call exists.
  MemoryCharge::Outcome Charge(std::size_t bytes, MemoryClaim claim);
  // Reserves memory for an answer of up to `bytes` before it is made, as far as a single request
  // may reserve that much. Unless the result is true, answer with a refusal. Reply corrects what is
  // reserved to the real size, and it stays charged until the client has taken the answer.
  bool ReserveAnswer(std::size_t bytes);
  // The same for an answer that is made: exactly `bytes`.
  bool ChargeAnswer(std::size_t bytes);
  // Gives the reserve back, because the answer will be made later.
  void ReleaseReserve() { answer_charge_.Release(); }
  // Whether the connection is closed, so that nobody gets the answer. Any thread.
  bool is_abandoned() const;

  // Runs `work`, which must reply, on the thread that sends the answer: on this thread while few
  // requests are in flight, else on the io thread of the connection, which has the connection in
  // its caches. `work` is destroyed there, and may destroy this call before AnswerBy returns. It
  // must not block. It is dropped if the server is gone.
  void AnswerBy(std::unique_ptr<AnswerWork> work) const;
  // Exactly one of these must be called, once.
  void Reply(ServerResponse response);
  std::shared_ptr<ReplyStream> Stream(ServerResponse head);

 private:
  ServerRequest request_;
  std::shared_ptr<Connection> connection_;  // null: answered
  std::uint64_t number_ = 0;                // of the request on its connection
  std::shared_ptr<RequestBody> body_;
  bool head_only_ = false;
  bool accepts_gzip_ = false;
  MemoryHolder holder_;
  MemoryCharge body_charge_;
  MemoryCharge charge_;
  MemoryCharge answer_charge_;
};

// What the head of a request shows about its sender.
struct Sender {
  enum class Standing : std::uint8_t {
    kUnknown,  // anybody
    kKnown,    // `name`
    kRefused,  // the request is refused, whatever its body
    kProbe,    // a health check, which is answered however little memory is left
  };
  Standing standing = Standing::kUnknown;
  ClientName name{};
};

// How the body of a request is received.
struct BodyTerms {
  // Limit of the body both as sent and decoded; beyond it 413. A body that is not streamed may
  // unpack to a hundred times its size (BodyDecoder::Ratio).
  std::uint64_t bytes_max = 0;
  // True: Handle is called after the head, and HttpCall::body provides the body. False: Handle is
  // called after the whole request.
  bool streamed = false;
  // Only the body shows who sends it, so anybody can send one. Such bodies share a small part of
  // the memory; beyond it 503.
  bool unproven = false;
};

// Answers requests. Called on several io threads at once; must not block.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual void Handle(HttpCall call) = 0;
  // Called when an io thread has handled everything that had arrived and is about to wait. Work
  // that was gathered for a common write must be submitted now.
  virtual void RoundEnded() {}
  // Called with the head of each request that has a body.
  virtual BodyTerms TermsOfBody(const ServerRequest& head) = 0;
  // Returns who sends a request whose body has not arrived yet or has to be unpacked, or for which
  // there may be no memory. If it is refused, its body is not taken: Handle is called at once, as
  // if the body were streamed, and must answer without it.
  virtual Sender SenderOf(const ServerRequest& /*head*/) {
    return {Sender::Standing::kKnown, {.tenant = {}, .is_operator = true}};
  }
};

struct HttpServerOptions {
  std::vector<std::string> listen = {"127.0.0.1:7377"};  // "host:port", "[::1]:0"
  std::uint32_t io_threads = 1;
  // TLS 1.3 only; both or none (PEM files).
  std::string certificate_file{};
  std::string key_file{};

  std::size_t head_bytes_max = 32 << 10;  // request line and headers: 431
  std::size_t headers_max = 100;
  std::size_t target_bytes_max = 8 << 10;  // 414
  // A further connection replaces the oldest one whose client is not authenticated. If there is
  // none, it is answered with 503 and closed.
  std::size_t connections_max = 12'000;
  // Per IPv4 address or IPv6 network of 64 bits. Zero: half of all, and no limit for loopback.
  std::size_t connections_per_address = 0;
  // Percent of the connections and of the memory that one tenant may use. Below 100, a tenth of
  // each is reserved for the operator.
  std::uint32_t tenant_share = 100;
  std::size_t in_flight_max = 4'096;  // requests not yet answered; beyond it sockets are not read
  std::size_t stream_bytes_max = 1 << 20;  // queued for one slow reader, which is then cut off
  // Bytes of a streamed body that the handler has not taken; beyond it the socket is not read.
  std::size_t upload_bytes_max = 256 << 10;
  // Bodies and answers in flight on all connections; beyond it 503. See MemoryAccount for the
  // shares of tenants.
  std::size_t memory_bytes_max = 256 << 20;
  std::chrono::milliseconds head_timeout{10'000};  // from the first byte of a head to its last: 408
  // The minimum rate of a body in bytes per second, averaged over its duration. A body that falls
  // behind by body_timeout is refused with 408.
  std::size_t body_rate_min = 4 << 10;
  std::chrono::milliseconds body_timeout{30'000};
  std::chrono::milliseconds idle_timeout{120'000};  // between requests
  std::chrono::milliseconds write_timeout{30'000};  // without the client accepting a byte
  std::size_t gzip_bytes_min = 1'024;               // smaller answers are not compressed
};

struct HttpServerMetrics {
  std::uint64_t connections_open = 0;
  std::uint64_t connections_total = 0;
  std::uint64_t connections_refused = 0;
  std::uint64_t requests_total = 0;
  std::uint64_t requests_in_flight = 0;
  std::uint64_t requests_malformed = 0;
  std::uint64_t streams_open = 0;
  std::uint64_t streams_cut_off = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t buffered_bytes = 0;
};

// An HTTP/1.1 server: keep-alive, pipelining (answers in order), chunked bodies, gzip both ways,
// TLS 1.3. Strict: an ambiguous request is refused and its connection closed. Its threads wait for
// nothing but sockets.
class HttpServer {
 public:
  // Starts to listen. Errors: kInvalidArgument, kAddressInUse.
  static Result<std::unique_ptr<HttpServer>> Start(HttpServerOptions options, HttpHandler& handler);
  // Closes all connections immediately.
  virtual ~HttpServer() = default;

  // The addresses at which the server listens, with the ports that were assigned.
  virtual std::vector<std::string> addresses() const = 0;
  // Stops accepting connections, answers what has arrived with "Connection: close" and ends
  // streams. Returns true when everything is answered, false if `wait` expires first.
  virtual bool Drain(std::chrono::milliseconds wait) = 0;
  // Reads certificate and key again. Open connections keep theirs.
  virtual Status ReloadCertificate() = 0;
  virtual HttpServerMetrics Metrics() const = 0;
};

}  // namespace everstep
