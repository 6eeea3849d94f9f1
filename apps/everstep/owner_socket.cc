#include "owner_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/value.h"
#include "commands.h"
#include "frames.h"
#include "socket_address.h"
#include "store_command.h"
#include "visitor_output.h"

namespace everstep::cli {
namespace {

constexpr int kRequestTimeoutMs = 5'000;
constexpr timeval kSendTimeout{5, 0};
constexpr int kBacklog = 64;

std::string HelloText() {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("everstep", OwnerSocket::kProtocol);
  json.Member("process", static_cast<std::uint64_t>(getpid()));
  json.EndObject();
  return text;
}

std::string ExitText(ExitCode code) { return "{\"code\":" + std::to_string(int(code)) + "}"; }

struct Request {
  const Command* command = nullptr;
  std::vector<std::string> words;
  std::string body;
  Look look;
};

std::optional<Request> ReadRequest(std::string_view json) {
  const auto document = ValueFromJson(json);
  if (!document) return std::nullopt;
  Request request;
  const auto is_true = [&](std::string_view name) { return IsTrue(document->Get(name)); };
  const auto size = [&](std::string_view name, std::size_t& target) {
    const Value value = document->Get(name);
    if (value.kind() != Value::Kind::kInt || value.int_value() <= 0) return;
    target = static_cast<std::size_t>(value.int_value());
  };
  request.look.is_terminal = is_true("terminal");
  request.look.colours = is_true("colours");
  request.look.utf8 = is_true("utf8");
  size("columns", request.look.columns);
  size("rows", request.look.rows);
  request.body = ToText(document->Get("body"));
  const Value words = document->Get("words");
  if (words.kind() != Value::Kind::kList) return std::nullopt;
  for (const Value& word : words.list()) request.words.push_back(ToText(word));
  const std::string name = ToText(document->Get("command"));
  const auto known = std::ranges::find_if(kCommands, [&](const Command* command) {
    return command->on_store != nullptr && command->name == name;
  });
  if (known != std::end(kCommands)) request.command = *known;
  return request;
}

ExitCode Execute(const Request& request, Engine& engine, AlertBoard& alerts, Output& out) {
  if (request.command == nullptr) {
    out.WriteError("everstep: the owner of the store is another version without this command\n");
    return ExitCode::kUsage;
  }
  std::vector<const char*> words;
  for (const std::string& word : request.words) words.push_back(word.c_str());
  std::string fault;
  const auto arguments = Arguments::Parse(*request.command, words, fault);
  if (!arguments) return FailUsage(*request.command, fault, out);
  const StoreCommand& command = *request.command->on_store;
  try {
    if (command.on_engine != nullptr) {
      return command.on_engine({*arguments, request.body, engine, out, &alerts, true});
    }
    return command.on_log({*arguments, request.body, engine.log(), out});
  } catch (const std::exception& exception) {
    out.WriteError(std::string("everstep: ") + exception.what() + "\n");
    return ExitCode::kStore;
  }
}

class Listener final : public OwnerSocket {
 public:
  Listener(std::string path, int socket, int closing, Engine& engine, AlertBoard& alerts)
      : path_(std::move(path)),
        socket_(socket),
        closing_(closing),
        engine_(engine),
        alerts_(alerts) {
    thread_ = std::thread([this] { Accept(); });
  }

  ~Listener() override {
    // Unlink first: new visitors then find no socket, instead of one that does not answer.
    unlink(path_.c_str());
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(closing_, &one, sizeof(one));
    thread_.join();
    for (Visitor& visitor : visitors_) visitor.thread.join();
    close(socket_);
    close(closing_);
  }

 private:
  struct Visitor {
    std::thread thread;
    std::atomic<bool> left = false;
  };

  void Accept() {
    while (true) {
      std::array<pollfd, 2> watched = {{{socket_, POLLIN, 0}, {closing_, POLLIN, 0}}};
      if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
      if (watched[1].revents != 0) return;
      const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) {
        // Out of file descriptors: wait for others to close before the next try.
        if (errno == EMFILE || errno == ENFILE) poll(&watched[1], 1, 100);
        continue;
      }
      Reap();
      Welcome(connection);
    }
  }

  void Reap() {
    visitors_.remove_if([](Visitor& visitor) {
      if (!visitor.left) return false;
      visitor.thread.join();
      return true;
    });
  }

  void Welcome(int connection) {
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof(kSendTimeout));
    if (!PeerIsSameUser(connection)) {
      close(connection);
      return;
    }
    if (visitors_.size() >= kVisitorsMax) {
      SendFrame(connection, Frame::Kind::kHello, HelloText());
      SendFrame(connection, Frame::Kind::kError,
                "everstep: the owner of the store is serving its maximum of commands; try again\n");
      SendFrame(connection, Frame::Kind::kExit, ExitText(ExitCode::kStore));
      close(connection);
      return;
    }
    Visitor& visitor = visitors_.emplace_back();
    visitor.thread = std::thread([this, connection, &visitor] {
      Answer(connection);
      close(connection);
      visitor.left = true;
    });
  }

  void Answer(int connection) {
    FrameReader reader(connection);
    if (SendFrame(connection, Frame::Kind::kHello, HelloText()) != 0) return;
    const auto frame = FirstFrame(connection, reader);
    if (!frame || frame->kind != Frame::Kind::kRequest) return;
    const auto request = ReadRequest(frame->content);
    if (!request) {
      SendFrame(connection, Frame::Kind::kError,
                "everstep: the owner of the store received an invalid request\n");
      SendFrame(connection, Frame::Kind::kExit, ExitText(ExitCode::kUsage));
      return;
    }
    VisitorOutput out(connection, reader, closing_, request->look);
    const ExitCode code = Execute(*request, engine_, alerts_, out);
    out.Flush();
    if (!out.broken_off()) SendFrame(connection, Frame::Kind::kExit, ExitText(code));
  }

  std::optional<Frame> FirstFrame(int connection, FrameReader& reader) const {
    while (true) {
      std::array<pollfd, 2> watched = {{{connection, POLLIN, 0}, {closing_, POLLIN, 0}}};
      if (poll(watched.data(), watched.size(), kRequestTimeoutMs) <= 0) return std::nullopt;
      if (watched[1].revents != 0) return std::nullopt;
      const bool is_there = reader.Receive();
      if (auto frame = reader.Take()) return frame;
      if (!is_there) return std::nullopt;
    }
  }

  const std::string path_;
  const int socket_;
  const int closing_;  // an eventfd, signalled once
  Engine& engine_;
  AlertBoard& alerts_;
  std::list<Visitor> visitors_;  // of the accepting thread, then of the destructor
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<OwnerSocket>> OwnerSocket::Listen(const Folder& folder, Engine& engine,
                                                         AlertBoard& alerts) {
  const std::string path = folder.socket();
  const auto failed = [&path](int socket) {
    Error error{ErrorCode::kStoreIo, path + ": " + std::strerror(errno), {}};
    if (socket >= 0) close(socket);
    return error;
  };
  const auto address = SocketAddress::Of(path);
  if (!address) return address.error();
  unlink(path.c_str());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return failed(socket);
  // Set the mode before bind, so that other users can never open it.
  if (fchmod(socket, 0600) != 0 || bind(socket, address->get(), address->size()) != 0 ||
      listen(socket, kBacklog) != 0) {
    return failed(socket);
  }
  const int closing = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (closing < 0) return failed(socket);
  return std::unique_ptr<OwnerSocket>(
      std::make_unique<Listener>(path, socket, closing, engine, alerts));
}

}  // namespace everstep::cli
