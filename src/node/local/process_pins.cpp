#include "node/local/process_pins.h"

#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

namespace hoplite::node {
namespace {

// Of one client, that hold what it read. Each has a descriptor here.
constexpr std::size_t kMostChildren = 1024;
constexpr std::size_t kMostChildrensPins = std::size_t{1} << 20;

}  // namespace

ProcessPins::ProcessPins(asio::io_context& loop, bool watched, std::function<void()> on_free)
    : loop_(loop), on_free_(std::move(on_free)), running_(watched) {}

Result<void> ProcessPins::Take(FileDescriptor pipe) {
  pipe_.reset();
  pipe_ended_ = false;
  if (pipe.get() < 0) return {};
  struct stat about{};
  if (::fstat(pipe.get(), &about) != 0 || !S_ISFIFO(about.st_mode)) {
    return std::unexpected(Error(ErrorCode::kProtocol, "the descriptor that came is no pipe"));
  }
  name_ = {about.st_dev, about.st_ino};
  if (const auto known = children_.find(name_); known != children_.end()) {
    pipe_ = known->second.pipe;
    return {};
  }
  const auto watch = std::make_shared<EndWatch>(loop_, std::move(pipe));
  if (!watch->watching()) return {};
  watch->OnEnd([this, name = name_] { OnPipeEnd(name); });
  pipe_ = watch;
  return {};
}

void ProcessPins::Fork(std::vector<store::CopyPtr> copies) {
  if (copies.empty()) return;
  if (!pipe_) {
    left_.insert(copies.begin(), copies.end());
    return;
  }
  Child& child = children_[name_];
  child.pipe = pipe_;
  childrens_pins_ -= child.pins.size();
  child.pins.insert(copies.begin(), copies.end());
  childrens_pins_ += child.pins.size();
}

Result<void> ProcessPins::CheckForks() const {
  if (children_.size() <= kMostChildren && childrens_pins_ <= kMostChildrensPins) return {};
  return std::unexpected(
      Error(ErrorCode::kProtocol,
            fmt::format("{} forked children hold {} views of this client; at most {} and {} may",
                        children_.size(), childrens_pins_, kMostChildren, kMostChildrensPins)));
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
void ProcessPins::OnPipeEnd(PipeName name) {
  if (const auto child = children_.extract(name)) childrens_pins_ -= child.mapped().pins.size();
  if (pipe_ && name_ == name) {
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
  childrens_pins_ = 0;
  FreeLeft();
}

}  // namespace hoplite::node
