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
#include "net/memory_account.h"
#include "net/tenant_account.h"

namespace everstep {

// A request as it came.
struct ServerRequest {
  std::string method;        // GET …
  std::string path;          // as sent, still percent-encoded; begins with "/"
  std::string query;         // behind the "?", as sent; may be empty
  HttpHeaders headers;       // names in lower case
  std::string body;          // decoded: neither chunked nor compressed; empty if it is streamed
  std::string peer_address;  // "127.0.0.1", "::1"
  bool secure = false;       // came over TLS

  // The first of that name (lower case); empty: none.
  std::string_view Header(std::string_view name) const;
};

struct ServerResponse {
  int status = 200;
  HttpHeaders headers;  // Content-Length, Connection, Date and Content-Encoding are the server's
  std::string body;
};

// An answer that is written piece by piece (chunked). Thread-safe.
class ReplyStream {
 public:
  virtual ~ReplyStream() = default;
  // False: the client has gone, or is too far behind and is cut off.
  virtual bool Write(std::string_view piece) = 0;
  // Bytes that the client has not taken yet. Who writes much waits until it is small again.
  virtual std::size_t queued() const = 0;
  // Called on an io thread whenever the queue has become empty, and once when the client has gone.
  // Set it before the first Write. Must not block.
  virtual void OnChange(std::function<void()> changed) = 0;
  virtual bool closed() const = 0;
  virtual void End() = 0;
};

// The body of a request while it comes. The socket is read no further than a little ahead of who
// takes it. Thread-safe, but for one who takes.
class RequestBody {
 public:
  enum class State : std::uint8_t {
    kComing,
    kWhole,   // the end has come: what was taken is all
    kBroken,  // the end will never come; the call has been answered, or there is nobody to answer
  };
  struct Piece {
    std::string bytes;  // decoded: neither chunked nor compressed
    State state = State::kComing;
  };

  virtual ~RequestBody() = default;
  // What has come since the last call; the bytes of that count as done with. Never waits.
  virtual Piece Take() = 0;
  // Called on an io thread, or by OnChange itself, when there is something to take: once, until a
  // Take has given no bytes. Must not block.
  virtual void OnChange(std::function<void()> changed) = 0;
};

// What makes an answer, where HttpCall::AnswerBy has it made.
class AnswerWork {
 public:
  virtual ~AnswerWork() = default;
  virtual void Answer() = 0;
};

// One request and the way to answer it. Moves with the work, to any thread. One that is dropped
// unanswered is answered with 500.
class HttpCall {
 public:
  class Connection;  // of the server
  HttpCall(ServerRequest request, std::shared_ptr<Connection> connection, std::uint64_t number,
           std::shared_ptr<RequestBody> body = nullptr);
  HttpCall(HttpCall&&) noexcept;
  HttpCall& operator=(HttpCall&&) noexcept;
  ~HttpCall();

  ServerRequest& request() { return request_; }
  const ServerRequest& request() const { return request_; }
  // The body, if it is streamed; null: it is a part of the request. An answer that is given before
  // the end has come ends the connection.
  const std::shared_ptr<RequestBody>& body() const { return body_; }

  enum class Vouched : std::uint8_t {
    kTaken,
    kNoConnection,  // its tenant has as many connections as it may
    kNoMemory,      // what its tenant holds fills its share of the memory
  };
  // The client has shown who it is: its connection is not closed to make room for others, and what
  // it holds is charged to its tenant. Answer with a refusal unless it is kTaken. On the thread of
  // HttpHandler::Handle only, before it is answered.
  Vouched Vouch(const ClientName& client);
  // Takes memory of the server's account until the call is answered, besides that of its body.
  MemoryCharge::Outcome Charge(std::size_t bytes, MemoryClaim claim);

  // Runs `work`, which replies, where the answer goes out: here, while there is little under way,
  // else on the io thread of the connection, with its memory at hand; there it also ends, and may
  // end this call before AnswerBy returns. It must not block. When the server has gone it is
  // dropped.
  void AnswerBy(std::unique_ptr<AnswerWork> work) const;
  // Exactly one of the two, once.
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
  MemoryCharge charge_;
};

// How the body of a request is taken.
struct BodyTerms {
  // As sent, and decoded: 413. One that is not streamed may unpack to a hundred times its size.
  std::uint64_t bytes_max = 0;
  // True: Handle is called when the head has come, and HttpCall::body gives the body. False: Handle
  // is called when all has come.
  bool streamed = false;
  // Only the body shows who sends it, so that anybody may: such bodies have little room together,
  // and beyond that 503.
  bool unproven = false;
};

// What answers requests. Called on io threads, several at once: must not block.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual void Handle(HttpCall call) = 0;
  // The io thread has handled everything that had come, and is about to wait for more: what was
  // gathered for a common write goes out now.
  virtual void RoundEnded() {}
  // Asked when the head of a request has come that has a body.
  virtual BodyTerms TermsOfBody(const ServerRequest& head) = 0;
  // Who sends a body that still has to come, or to be unpacked; of unproven ones it does not count.
  // Nothing: the body is not wanted. Handle is called at once, as if it were streamed, and must
  // answer without it.
  virtual std::optional<ClientName> SenderOf(const ServerRequest& /*head*/) {
    return ClientName{.tenant = {}, .is_operator = true};
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
  // One more takes the place of the oldest that has not shown who it is; if there is none, it is
  // answered with 503 and closed.
  std::size_t connections_max = 12'000;
  // Of one address, or IPv6 network of 64 bits. Zero: half of all, and any number from loopback.
  std::size_t connections_per_address = 0;
  // Percent of the connections and of the memory that one tenant may take; below 100 a tenth of
  // each is left to the operator.
  std::uint32_t tenant_share = 100;
  std::size_t in_flight_max = 4'096;       // requests not yet answered; then sockets are not read
  std::size_t stream_bytes_max = 1 << 20;  // queued for one slow reader; then it is cut off
  // Of a streamed body, not yet taken by the handler; then its socket is not read.
  std::size_t upload_bytes_max = 256 << 10;
  // Bodies and answers under way, of all connections: 503. See MemoryAccount for the parts of it.
  std::size_t memory_bytes_max = 256 << 20;
  std::chrono::milliseconds head_timeout{10'000};  // from the first byte of a head to its last: 408
  // A body comes with so many bytes a second, all in all; one that is later than that by
  // body_timeout is refused with 408.
  std::size_t body_rate_min = 4 << 10;
  std::chrono::milliseconds body_timeout{30'000};
  std::chrono::milliseconds idle_timeout{120'000};  // between requests
  std::chrono::milliseconds write_timeout{30'000};  // without the client taking a byte
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
// TLS 1.3. Strict: what is ambiguous is refused and the connection closed. Nothing on its threads
// waits for anything but sockets.
class HttpServer {
 public:
  // Listens; kInvalidArgument, kAddressInUse.
  static Result<std::unique_ptr<HttpServer>> Start(HttpServerOptions options, HttpHandler& handler);
  // Closes everything at once.
  virtual ~HttpServer() = default;

  // The addresses listened on, with the ports that were given.
  virtual std::vector<std::string> addresses() const = 0;
  // Takes no more connections; answers what has come with "Connection: close", ends streams, and
  // returns when all is answered or `wait` is over (false).
  virtual bool Drain(std::chrono::milliseconds wait) = 0;
  // Reads certificate and key again; connections that are open keep theirs.
  virtual Status ReloadCertificate() = 0;
  virtual HttpServerMetrics Metrics() const = 0;
};

}  // namespace everstep
