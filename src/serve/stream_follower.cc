#include "serve/stream_follower.h"

#include <utility>

#include "base/encoding.h"

namespace everstep {
namespace {

constexpr std::chrono::seconds kBeatEvery{15};
constexpr std::size_t kChunksPerRead = 100;
constexpr std::size_t kBytesPerRead = 256 << 10;

}  // namespace

// A turn that is dropped ends the stream.
class StreamFollower::Turn {
 public:
  explicit Turn(std::shared_ptr<StreamFollower> follower) : follower_(std::move(follower)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (follower_ != nullptr) follower_->Finish();
  }
  void Take() { std::exchange(follower_, nullptr)->TakeTurn(); }

 private:
  std::shared_ptr<StreamFollower> follower_;
};

void StreamFollower::Begin() {
  self_ = shared_from_this();
  reply_->OnChange([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->GoOn();
  });
  GoOn();
}

void StreamFollower::GoOn() {
  if (asked_.fetch_add(1) > 0) return;
  later_([turn = std::make_shared<Turn>(shared_from_this())] { turn->Take(); });
}

void StreamFollower::TakeTurn() {
  const auto alive = shared_from_this();
  std::uint32_t seen = asked_.load();
  do {
    Work();
    std::uint32_t all = seen;
    if (asked_.compare_exchange_strong(all, 0)) return;
    seen = all;
  } while (true);
}

void StreamFollower::Work() {
  if (over_) return;
  if (reply_->closed() || !SendAll()) return Finish();
  // If data is still queued, the stream's callback continues once it is drained.
  if (reply_->queued() > 0 || waiting_.exchange(true)) return;
  const auto woken = [self = shared_from_this()] {
    self->woken_.store(true);
    self->waiting_.store(false);
    self->GoOn();
  };
  if (!streams_.WhenGrown(name_, next_, kBeatEvery, woken)) Finish();
}

void StreamFollower::Finish() {
  over_ = true;
  reply_->End();
  share_.Release();
  self_.reset();
}

bool StreamFollower::SendAll() {
  bool quiet = woken_.exchange(false);
  while (reply_->queued() == 0) {
    const auto page = streams_.Read(name_, next_, kChunksPerRead, kBytesPerRead);
    if (!page) return false;
    std::string text;
    for (const std::string& chunk : page->chunks) {
      text.append("id: ").append(std::to_string(next_++)).append("\n");
      text.append("event: chunk\ndata: ").append(Base64(chunk)).append("\n\n");
    }
    const bool ends = page->info.closed && next_ >= page->info.chunks;
    if (ends) text.append("event: end\ndata:\n\n");
    // Nothing came for a while: send a comment to keep the connection alive.
    if (text.empty() && quiet) text = ": beat\n\n";
    quiet = false;
    if (!text.empty() && !reply_->Write(text)) return false;
    if (ends) return false;
    if (page->chunks.empty()) return true;
  }
  return true;
}

}  // namespace everstep
