#include "visitor.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>

#include "base/json.h"
#include "base/value.h"
#include "frames.h"
#include "interrupt.h"
#include "owner_socket.h"
#include "socket_address.h"

namespace everstep::cli {
namespace {

constexpr std::chrono::milliseconds kHelloTimeout{3'000};
constexpr std::chrono::milliseconds kLookEvery{200};
constexpr timeval kSendTimeout{5, 0};

std::string RequestText(const Arguments& arguments, std::string_view body, const Look& look) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("command", arguments.command().name);
  json.Key("words");
  json.BeginArray();
  for (const std::string& word : arguments.words()) json.String(word);
  json.EndArray();
  json.Member("body", body);
  json.Member("terminal", look.is_terminal);
  json.Member("colours", look.colours);
  json.Member("utf8", look.utf8);
  json.Member("columns", std::uint64_t{look.columns});
  json.Member("rows", std::uint64_t{look.rows});
  json.EndObject();
  return text;
}

std::string WindowText(const Look& look) {
  return "{\"columns\":" + std::to_string(look.columns) + ",\"rows\":" + std::to_string(look.rows) +
         "}";
}

std::int64_t NumberIn(std::string_view json, std::string_view name) {
  const auto document = ValueFromJson(json);
  const Value value = document ? document->Get(name) : Value();
  return value.kind() == Value::Kind::kInt ? value.int_value() : -1;
}

// A connection to the owner.
class Conversation {
 public:
  Conversation(int socket, std::string& body, Output& out)
      : socket_(socket), reader_(socket), body_(body), out_(out) {}

  Visit Hold(const Arguments& arguments) {
    if (!ReceivesHello()) return {Visit::End::kSilence};
    look_ = out_.look();
    if (SendFrame(socket_, Frame::Kind::kRequest, RequestText(arguments, body_, look_)) != 0) {
      return {Visit::End::kBrokenOff};
    }
    while (true) {
      pollfd watched{socket_, POLLIN, 0};
      // An interrupt also ends this wait.
      WaitForEither(watched);
      const bool is_there = reader_.Receive();
      while (const auto frame = reader_.Take()) {
        if (const auto code = Understand(*frame)) return {Visit::End::kAnswered, *code};
      }
      out_.Flush();
      if (!is_there) return {Visit::End::kBrokenOff};
      Forward();
    }
  }

 private:
  bool ReceivesHello() {
    const auto deadline = std::chrono::steady_clock::now() + kHelloTimeout;
    while (std::chrono::steady_clock::now() < deadline) {
      pollfd watched{socket_, POLLIN, 0};
      poll(&watched, 1, 100);
      const bool is_there = reader_.Receive();
      if (const auto frame = reader_.Take()) {
        return frame->kind == Frame::Kind::kHello &&
               NumberIn(frame->content, "everstep") == std::int64_t{OwnerSocket::kProtocol};
      }
      if (!is_there) return false;
    }
    return false;
  }

  void WaitForEither(pollfd& watched) {
    if (InterruptCount() > forwarded_) return;
    poll(&watched, 1, static_cast<int>(kLookEvery.count()));
  }

  std::optional<ExitCode> Understand(const Frame& frame) {
    switch (frame.kind) {
      case Frame::Kind::kOutput:
        out_.Write(frame.content);
        break;
      case Frame::Kind::kError:
        out_.WriteError(frame.content);
        break;
      case Frame::Kind::kBody:
        body_ = frame.content;
        break;
      case Frame::Kind::kExit:
        out_.Flush();
        return static_cast<ExitCode>(NumberIn(frame.content, "code") & 0xff);
      default:
        break;
    }
    return std::nullopt;
  }

  // Forwards what the owner cannot see: interrupts, and changes of the window size.
  void Forward() {
    for (; forwarded_ < InterruptCount(); ++forwarded_)
      SendFrame(socket_, Frame::Kind::kInterrupt, "");
    if (!out_.is_open()) shutdown(socket_, SHUT_RDWR);
    if (!look_.is_terminal) return;
    out_.RefreshLook();
    if (out_.look().columns == look_.columns && out_.look().rows == look_.rows) return;
    look_ = out_.look();
    SendFrame(socket_, Frame::Kind::kWindow, WindowText(look_));
  }

  int socket_;
  FrameReader reader_;
  std::string& body_;
  Output& out_;
  Look look_;
  int forwarded_ = 0;  // interrupts
};

}  // namespace

Visit VisitOwner(const Folder& folder, const Arguments& arguments, std::string& body, Output& out) {
  const auto address = SocketAddress::Of(folder.socket());
  if (!address) return {};
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return {};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof(kSendTimeout));
  Visit visit;
  if (connect(socket, address->get(), address->size()) == 0) {
    visit = PeerIsSameUser(socket) ? Conversation(socket, body, out).Hold(arguments)
                                   : Visit{Visit::End::kSilence};
  }
  close(socket);
  return visit;
}

}  // namespace everstep::cli
