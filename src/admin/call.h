// Call: one call of a program, from its request to the last byte of its answer. And UnreadAnswers: what
// programs have not taken yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <utility>

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include "base/mutex.h"
#include "base/units.h"

namespace hoplite::admin {

class Call;

// Decides: whose answer is given up where the answers that nobody takes become too many: the oldest's.
class UnreadAnswers {
 public:
  static constexpr std::size_t kMostBytes = 64_MiB;

  void Add(Call& call, std::size_t bytes);
  void Remove(const Call& call);

 private:
  struct Answer {
    Call* call;
    std::size_t bytes;
  };
  Mutex mutex_;
  std::list<Answer> answers_ HOPLITE_GUARDED_BY(mutex_);
  std::size_t bytes_ HOPLITE_GUARDED_BY(mutex_) = 0;
};

// Keeps itself until gRPC is done with it; who is to answer holds it, too.
class Call final : public grpc::ServerUnaryReactor {
 public:
  static std::shared_ptr<Call> Begin(grpc::CallbackServerContext& context, UnreadAnswers& unread);

  // Before the handler of the call returns: when the program has gone, or its deadline has passed.
  void WhenCancelled(std::function<void()> cancelled) { when_cancelled_ = std::move(cancelled); }
  bool wanted() const { return !cancelled_; }
  // Once. `bytes`: of the response.
  void Answer(grpc::Status status, std::size_t bytes = 0);
  // Takes the answer back. Before OnDone.
  void GiveUp() { context_.TryCancel(); }

 private:
  Call(grpc::CallbackServerContext& context, UnreadAnswers& unread)
      : context_(context), unread_(unread) {}
  void OnCancel() override;
  void OnDone() override;

  grpc::CallbackServerContext& context_;
  UnreadAnswers& unread_;
  std::function<void()> when_cancelled_;
  std::atomic<bool> cancelled_{false};
  std::shared_ptr<Call> self_;
};

}  // namespace hoplite::admin
