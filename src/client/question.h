// Question: a request under way, as a Future or a Reduction holds it. Thread-safe; in a forked
// child it is answered, with the error that says so.
#pragma once

#include <functional>
#include <memory>

#include <hoplite/result.h>

#include "base/time.h"
#include "client/connection.h"

namespace hoplite::client {

class Question {
 public:
  using Answer = Result<local::Answer>;
  // give_up: settles `pending` with this error, unless it is settled.
  using GiveUpBy = std::function<void(Error)>;

  Question(std::shared_ptr<Connection> connection, PendingPtr pending, Time deadline);
  Question(std::shared_ptr<Connection> connection, PendingPtr pending, Time deadline,
           GiveUpBy give_up);
  ~Question() { Forget(); }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  bool inherited() const { return connection_->inherited(); }
  bool ready() const { return inherited() || pending_->settled(); }
  // Null: it is not there at `until`, or when the thread is interrupted, and may still come.
  const Answer* Wait(Time until);
  void OnReady(std::function<void()> function);
  // What OnReady was given is not called any more.
  void Forget() { connection_->Forget(*pending_); }
  void GiveUp(Error why) const;
  // Until when the node may be silent; then it is given up.
  Time last() const { return connection_->LastMoment(deadline_); }
  void GiveUpSilent() const;
  // Nobody wants the answer; what it made, or will make, is released.
  void Drop();

  const std::shared_ptr<Connection>& connection() const { return connection_; }
  Pending& pending() const { return *pending_; }

 private:
  const std::shared_ptr<Connection> connection_;
  const PendingPtr pending_;
  const Time deadline_;  // the node's, for the answer
  const GiveUpBy give_up_;
};

}  // namespace hoplite::client
