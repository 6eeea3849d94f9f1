#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "frames.h"
#include "output.h"

namespace everstep::cli {

// Answers a visitor on the owner's socket. One thread.
class VisitorOutput final : public Output {
 public:
  // `closing` becomes readable when this process wants to end. Both must outlive the object.
  VisitorOutput(int socket, FrameReader& reader, int closing, Look look)
      : Output(look), socket_(socket), reader_(reader), closing_(closing) {}

  void RefreshLook() override { Listen(std::chrono::milliseconds(0)); }
  void WriteError(std::string_view text) override;
  int interrupts() override;
  bool gone() override;
  bool Wait(std::chrono::milliseconds time) override;
  void Remember(std::string_view body) override;

  // The command was ended by the end of this process: its exit code means nothing.
  bool broken_off() const { return is_closing_; }

 private:
  int Send(std::string_view text) override;
  // Waits up to `time` for the visitor to say something, and takes it.
  void Listen(std::chrono::milliseconds time);
  void Understand(const Frame& frame);

  int socket_;
  FrameReader& reader_;
  int closing_;
  int interrupts_ = 0;
  bool is_closing_ = false;
};

}  // namespace everstep::cli
