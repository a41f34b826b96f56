#include "cli/web/same_process_port.h"

#include <asio/post.hpp>

#include "base/mutex.h"

namespace hoplite::cli::web {

// The shard's answers may come when the asker's loop is gone.
class SameProcessPort::Gate : public std::enable_shared_from_this<Gate> {
 public:
  explicit Gate(asio::io_context& loop) : loop_(&loop) {}

  void Close() {
    const MutexLock lock(mutex_);
    loop_ = nullptr;
  }
  // Any thread.
  void Pass(std::function<void()> answer) {
    const MutexLock lock(mutex_);
    if (loop_ == nullptr) return;
    asio::post(*loop_, [self = shared_from_this(), answer = std::move(answer)] {
      if (self->open()) answer();
    });
  }

 private:
  bool open() {
    const MutexLock lock(mutex_);
    return loop_ != nullptr;
  }

  Mutex mutex_;
  asio::io_context* loop_ HOPLITE_GUARDED_BY(mutex_);
};

SameProcessPort::SameProcessPort(asio::io_context& loop,
                                 std::shared_ptr<directory::DirectoryService> shard)
    : shard_(std::move(shard)), gate_(std::make_shared<Gate>(loop)) {}

std::unique_ptr<directory::Connection> SameProcessPort::Open(
    const std::string& /*member*/, wire::Hello /*hello*/,
    std::function<void(wire::ShardMessage)> /*receive*/) {
  return nullptr;
}

void SameProcessPort::Find(const ObjectId& object, Duration /*timeout*/,
                           std::function<void(Result<protocol::ObjectView>)> done) {
  shard_->Find(object,
               [gate = gate_, done = std::move(done)](const Result<protocol::ObjectView>& found) {
                 gate->Pass([done, found] { done(found); });
               });
}

void SameProcessPort::Status(const protocol::PageRequest& page, Duration /*timeout*/,
                             std::function<void(Result<protocol::StatusPage>)> done) {
  shard_->Status(page, [gate = gate_, shard = shard_.get(),
                        done = std::move(done)](protocol::StatusPage said) {
    using Answer = Result<protocol::StatusPage>;
    const auto why = shard->StandsBy();
    const auto kept =
        std::make_shared<Answer>(why ? Answer(std::unexpected(*why)) : Answer(std::move(said)));
    gate->Pass([done, kept] { done(std::move(*kept)); });
  });
}

void SameProcessPort::Stop() { gate_->Close(); }

}  // namespace hoplite::cli::web
