#include "node/local/process_pins.h"

#include <utility>

#include <sys/stat.h>

namespace hoplite::node {
namespace {

bool IsPipe(int descriptor) {
  struct stat about{};
  return ::fstat(descriptor, &about) == 0 && S_ISFIFO(about.st_mode);
}

}  // namespace

ProcessPins::ProcessPins(asio::io_context& loop, bool watched, std::function<void()> on_free)
    : loop_(loop), on_free_(std::move(on_free)), running_(watched) {}

Result<void> ProcessPins::Take(FileDescriptor pipe) {
  pipe_.reset();
  pipe_ended_ = false;
  if (pipe.get() < 0) return {};
  if (!IsPipe(pipe.get())) {
    return std::unexpected(Error(ErrorCode::kProtocol, "the descriptor that came is no pipe"));
  }
  const auto watch = std::make_shared<EndWatch>(loop_, std::move(pipe));
  if (!watch->watching()) return {};
  watch->OnEnd([this, ended = watch.get()] { OnPipeEnd(ended); });
  pipe_ = watch;
  return {};
}

void ProcessPins::Fork(std::vector<store::CopyPtr> copies) {
  if (copies.empty()) return;
  Pins& pins = pipe_ ? children_[pipe_] : left_;
  pins.insert(copies.begin(), copies.end());
}

void ProcessPins::OnConnectionEnd(std::vector<store::CopyPtr> copies) {
  connected_ = false;
  left_.insert(copies.begin(), copies.end());
  copies.clear();
  FreeLeft();
}

void ProcessPins::OnExit() {
  running_ = false;
  FreeLeft();
}

// Of a process that was forked unnoticed, and of one that could make no new pipe, the child holds
// the client's own one.
void ProcessPins::OnPipeEnd(const EndWatch* pipe) {
  std::erase_if(children_, [pipe](const auto& child) { return child.first.get() == pipe; });
  if (pipe_.get() == pipe) {
    pipe_.reset();
    pipe_ended_ = true;
  }
  FreeLeft();
}

void ProcessPins::FreeLeft() {
  const bool gone = !pipe_ && (pipe_ended_ || !running_);
  if (!connected_ && gone) left_.clear();
  on_free_();
}

void ProcessPins::Clear() {
  running_ = false;
  pipe_.reset();
  children_.clear();
  FreeLeft();
}

std::size_t ProcessPins::count() const {
  std::size_t sum = left_.size();
  for (const auto& [pipe, pins] : children_) sum += pins.size();
  return sum;
}

}  // namespace hoplite::node
