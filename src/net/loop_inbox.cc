#include "net/loop_inbox.h"

#include <sys/eventfd.h>

#include <utility>

#include "base/assert.h"

namespace everstep {
namespace {

thread_local const LoopInbox* inbox_of_thread = nullptr;

}  // namespace

LoopInbox::LoopInbox() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { EVERSTEP_ASSERT(wake_); }

bool LoopInbox::Post(LoopPost post, Urgency urgency) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    mail_.posts.push_back(std::move(post));
    if (urgency == Urgency::kNow) wake = std::exchange(waiting_, false);
  }
  if (wake) WriteWake();
  return true;
}

bool LoopInbox::Post(std::unique_ptr<AnswerWork> work) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    mail_.works.push_back(std::move(work));
    wake = std::exchange(waiting_, false);
  }
  if (wake) WriteWake();
  return true;
}

void LoopInbox::Wake() {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    wake = std::exchange(waiting_, false);
  }
  if (wake) WriteWake();
}

bool LoopInbox::OnLoopThread() const { return inbox_of_thread == this; }
void LoopInbox::BindToThread() { inbox_of_thread = this; }

bool LoopInbox::BeginWait() {
  const std::lock_guard lock(mutex_);
  if (!mail_.empty() || woken_) return false;
  waiting_ = true;
  return true;
}

void LoopInbox::Take(LoopMail& mail) {
  const std::lock_guard lock(mutex_);
  waiting_ = woken_ = false;
  std::swap(mail_, mail);
}

void LoopInbox::Close() {
  LoopMail dropped;  // destroyed outside the lock
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    std::swap(mail_, dropped);
  }
  for (const LoopPost& post : dropped.posts) {
    if (post.answer.stream != nullptr) post.answer.stream->Close();
  }
}

// The eventfd is watched edge-triggered and never read: each write is an event, and the counter
// cannot overflow in the lifetime of a machine.
void LoopInbox::WriteWake() {
  const std::uint64_t one = 1;
  EVERSTEP_ASSERT(::write(wake_.get(), &one, sizeof(one)) == sizeof(one));
}

}  // namespace everstep
