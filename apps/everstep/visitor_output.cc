#include "visitor_output.h"

#include <poll.h>

#include <array>
#include <cerrno>

#include "base/value.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

}  // namespace

int VisitorOutput::Send(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), kPieceBytes))) {
    const int error = SendFrame(socket_, Frame::Kind::kOutput, text.substr(0, kPieceBytes));
    if (error != 0) return error;
  }
  return 0;
}

void VisitorOutput::WriteError(std::string_view text) {
  if (!Flush()) return;
  if (const int error = SendFrame(socket_, Frame::Kind::kError, text); error != 0) Fail(error);
}

void VisitorOutput::Remember(std::string_view body) {
  if (!Flush()) return;
  if (const int error = SendFrame(socket_, Frame::Kind::kBody, body); error != 0) Fail(error);
}

int VisitorOutput::interrupts() {
  Listen(std::chrono::milliseconds(0));
  return interrupts_;
}

bool VisitorOutput::gone() {
  Listen(std::chrono::milliseconds(0));
  return is_closing_ || !is_open();
}

bool VisitorOutput::Wait(std::chrono::milliseconds time) {
  Flush();
  Listen(time);
  return !is_closing_ && is_open() && interrupts_ == 0;
}

void VisitorOutput::Listen(std::chrono::milliseconds time) {
  if (is_closing_ || !is_open()) return;
  std::array<pollfd, 2> watched = {{{socket_, POLLIN, 0}, {closing_, POLLIN, 0}}};
  if (poll(watched.data(), watched.size(), static_cast<int>(time.count())) <= 0) return;
  is_closing_ = watched[1].revents != 0;
  if (watched[0].revents == 0) return;
  const bool is_there = reader_.Receive();
  while (const auto frame = reader_.Take()) Understand(*frame);
  if (!is_there) Fail(EPIPE);
}

void VisitorOutput::Understand(const Frame& frame) {
  if (frame.kind == Frame::Kind::kInterrupt) ++interrupts_;
  if (frame.kind != Frame::Kind::kWindow) return;
  const auto window = ValueFromJson(frame.content);
  if (!window) return;
  const auto take = [&window](std::string_view name, std::size_t& target) {
    const Value value = window->Get(name);
    if (value.kind() == Value::Kind::kInt && value.int_value() > 0) {
      target = static_cast<std::size_t>(value.int_value());
    }
  };
  take("columns", look_.columns);
  take("rows", look_.rows);
}

}  // namespace everstep::cli
