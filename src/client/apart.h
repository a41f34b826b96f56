// A call that waits and copies, on a thread of its own while it goes on: what is behind a Future of
// it.
//
// The thread belongs to nobody. Giving the future up ends the call's waits at once, and then waits
// until the thread has left the caller's memory alone.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <hoplite/future.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "client/background.h"
#include "client/connection.h"
#include "client/futures.h"
#include "client/interruption.h"

namespace hoplite::client {

template <typename T>
class Apart : public std::enable_shared_from_this<Apart<T>> {
 public:
  // Runs `call`, which ends soon when its thread is interrupted.
  static Future<T> Run(std::shared_ptr<Connection> connection, std::string what,
                       std::function<Result<T>()> call) {
    const auto apart = std::make_shared<Apart>(std::move(connection));
    apart->Start(std::move(call));
    auto question = std::make_unique<Question>(apart->connection_, apart->done_, kNever,
                                               [apart](const Error&) { apart->GiveUp(); });
    return FutureOf<T>(std::move(question), std::move(what),
                       [apart](const local::Answer&) { return *std::move(apart->outcome_); });
  }

  explicit Apart(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)), done_(std::make_shared<Pending>(0)) {}

 private:
  void Start(std::function<Result<T>()> call) {
    if (!connection_->has_reader()) return End(call());  // that it is not there, at once
    auto work = [apart = this->shared_from_this(), call = std::move(call)]() mutable {
      apart->Call(std::move(call));
    };
    if (const auto begun = Background().Do(std::move(work)); !begun) {
      End(std::unexpected(begun.error()));
    }
  }
  // What `call` holds goes before anybody hears of the outcome.
  void Call(std::function<Result<T>()> call) {
    const Interruption given_up(stop_.get_token());
    Result<T> outcome = call();
    call = nullptr;
    End(std::move(outcome));
  }
  void End(Result<T> outcome) {
    outcome_.emplace(std::move(outcome));
    connection_->Settle(*done_, local::Answer());
    ended_ = true;
    ended_.notify_all();
  }
  void GiveUp() {
    stop_.request_stop();
    ended_.wait(false);
  }

  const std::shared_ptr<Connection> connection_;
  const PendingPtr done_;
  std::stop_source stop_;
  std::optional<Result<T>> outcome_;  // before `done_` is settled
  std::atomic<bool> ended_{false};
};

}  // namespace hoplite::client
