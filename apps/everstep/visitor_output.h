#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "frames.h"
#include "output.h"

namespace everstep::cli {

// The output of a command that the owner runs for a visitor; goes to the owner's socket. Not
// thread-safe.
class VisitorOutput final : public Output {
 public:
  // `closing` becomes readable when this process is about to end. `reader` and both descriptors
  // must outlive the object.
  VisitorOutput(int socket, FrameReader& reader, int closing, Look look)
      : Output(look), socket_(socket), reader_(reader), closing_(closing) {}

  void RefreshLook() override { Listen(std::chrono::milliseconds(0)); }
  void WriteError(std::string_view text) override;
  int interrupts() override;
  bool gone() override;
  bool Wait(std::chrono::milliseconds time) override;
  void Remember(std::string_view body) override;

  // Returns whether the end of this process cut the command off; its exit code is then meaningless.
  bool broken_off() const { return is_closing_; }

 private:
  int Send(std::string_view text) override;
  // Waits up to `time` for frames of the visitor and handles them.
  void Listen(std::chrono::milliseconds time);
  void Understand(const Frame& frame);

  int socket_;
  FrameReader& reader_;
  int closing_;
  int interrupts_ = 0;
  bool is_closing_ = false;
};

}  // namespace everstep::cli
