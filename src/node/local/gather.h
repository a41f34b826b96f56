// Gather: what one request asks of several objects.
//
// Begins an operation for each, a few in a step of the loop: however many there are, others come in
// between. The operations that are left when the request ends are cancelled, a few in a step as
// well. On the node's loop only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <asio/post.hpp>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/clock.h"
#include "net/await.h"
#include "node/core/operations.h"

namespace hoplite::node {

template <typename T>
class Gather : public std::enable_shared_from_this<Gather<T>> {
 public:
  using Operation = std::function<net::Task<Result<T>>(ObjectId, CallPtr)>;
  // None: it was under way at the deadline.
  using Results = std::vector<std::optional<Result<T>>>;
  // Whether all of the object is here: then it is worth it to begin its operation at the deadline.
  using IsHere = std::function<bool(const ObjectId&)>;

  // With `is_here` nobody waits for what is under way at the deadline, but for the first few: so many
  // own ends would take too long. Without, each operation has the request's deadline, and is waited
  // for.
  Gather(Operations& operations, std::vector<ObjectId> objects, CallPtr request,
         Operation operation, IsHere is_here = nullptr)
      : operations_(operations),
        objects_(std::move(objects)),
        request_(std::move(request)),
        operation_(std::move(operation)),
        is_here_(std::move(is_here)),
        calls_(objects_.size()),
        results_(objects_.size()),
        left_(objects_.size()) {}

  // Once. In the order of the objects. None: the request was cancelled.
  net::Task<std::optional<Results>> Run() {
    const auto self = this->shared_from_this();
    for (std::size_t place = 0; place < objects_.size() && !request_->cancelled; ++place) {
      if (place % kInOneTurn == kInOneTurn - 1)
        co_await asio::post(operations_.loop(), net::kAwait);
      Begin(place);
    }
    bool in_time = is_here_ != nullptr;
    while (left_ > 0 && (in_time || ending_ > 0) && !request_->cancelled) {
      const Time until = in_time ? request_->deadline : kNever;
      if (co_await request_->changed.Wait(until)) continue;
      in_time = false;
      EndFirst();
    }
    closed_ = true;
    if (left_ > 0) operations_.Spawn("the rest of a client's request", CancelRest(self));
    if (request_->cancelled) co_return std::nullopt;
    co_return std::move(results_);
  }

  const std::vector<ObjectId>& objects() const { return objects_; }

 private:
  // Of each gather: a client may have some fifty under way.
  static constexpr std::size_t kInOneTurn = 16;
  static constexpr std::size_t kOwnEnds = 8;

  void Begin(std::size_t place) {
    const ObjectId& object = objects_[place];
    const bool late = Now() >= request_->deadline;
    if (late && is_here_ && !is_here_(object)) return Count();
    const auto call = std::make_shared<Call>(operations_.loop());
    if (late || !is_here_) call->deadline = request_->deadline;
    ending_ += Ends(*call) ? 1 : 0;
    call->client = request_->client;
    call->together = request_->together;
    call->only_if_owned = request_->only_if_owned;
    call->grace = request_->grace;
    calls_[place] = call;
    operations_.Spawn("a part of a client's request", One(this->shared_from_this(), place, call));
  }

  static net::Task<void> One(std::shared_ptr<Gather> self, std::size_t place, CallPtr call) {
    Result<T> result = co_await self->operation_(self->objects_[place], call);
    self->calls_[place].reset();
    if (self->Ends(*call) && --self->ending_ == 0) self->request_->changed.Notify();
    self->Settle(place, std::move(result));
  }

  // It has the request's deadline.
  bool Ends(const Call& call) const { return !is_here_ || call.deadline != kNever; }

  // They say why they are late.
  void EndFirst() {
    std::size_t few = kOwnEnds;
    for (const CallPtr& call : calls_) {
      if (few == 0) break;
      if (!call || Ends(*call)) continue;
      call->deadline = request_->deadline;
      call->changed.Notify();
      ++ending_;
      --few;
    }
  }

  void Settle(std::size_t place, Result<T> result) {
    if (closed_) return;
    results_[place] = std::move(result);
    Count();
  }

  // One more that is not waited for.
  void Count() {
    if (--left_ == 0) request_->changed.Notify();
  }

  static net::Task<void> CancelRest(std::shared_ptr<Gather> self) {
    std::size_t cancelled = 0;
    for (const CallPtr& call : self->calls_) {
      if (!call) continue;
      call->Cancel();
      if (++cancelled % kInOneTurn != 0) continue;
      co_await asio::post(self->operations_.loop(), net::kAwait);
    }
  }

  Operations& operations_;
  const std::vector<ObjectId> objects_;
  const CallPtr request_;
  const Operation operation_;
  const IsHere is_here_;
  std::vector<CallPtr> calls_;  // under way
  Results results_;
  std::size_t left_;
  std::size_t ending_ = 0;  // of those under way, which have a deadline of their own
  bool closed_ = false;     // nobody wants further results
};

}  // namespace hoplite::node
