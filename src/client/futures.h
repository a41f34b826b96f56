// How the library makes a Future: of a question to the node, and of how its answer is read.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <hoplite/future.h>
#include <hoplite/object_id.h>

#include "base/time.h"
#include "base/try.h"
#include "client/connection.h"
#include "client/interruption.h"
#include "client/question.h"

namespace hoplite::client {

inline std::string Naming(const ObjectId& id) { return "object " + id.ToHex(); }

// `what` it is of: "register leader". `read` makes a Result<T> of the outcome, a Result<Answer>, once,
// on the first thread that asks for it.
template <typename T, typename Read>
Future<T> FutureOfOutcome(std::unique_ptr<Question> question, std::string what, Read read) {
  const Question* asked = question.get();
  return detail::Futures::Make<T>(
      std::make_unique<detail::Asked>(std::move(question), std::move(what)),
      [asked, read = std::move(read)]() -> Result<T> { return read(asked->pending().outcome()); });
}

// The same of the answer, if there is one.
template <typename T, typename Read>
Future<T> FutureOf(std::unique_ptr<Question> question, std::string what, Read read) {
  return FutureOfOutcome<T>(std::move(question), std::move(what),
                            [read = std::move(read)](const Question::Answer& outcome) -> Result<T> {
                              if (!outcome) return std::unexpected(outcome.error());
                              return read(*outcome);
                            });
}

// Of one request, which is sent.
inline std::unique_ptr<Question> Asking(std::shared_ptr<Connection> connection,
                                        local::Request request, Time deadline) {
  PendingPtr pending = connection->Begin(std::move(request), deadline);
  return std::make_unique<Question>(std::move(connection), std::move(pending), deadline);
}

// One request and what is made of its answer: for a call that waits, and for its Async.
template <typename T>
struct Exchange {
  std::shared_ptr<Connection> connection;
  local::Request request;
  Time deadline = kNever;
  std::string what;
  std::function<Result<T>(const local::Answer&)> read;

  Result<T> Wait(const std::stop_token& stop = {}) && {
    const Interruption by_caller(stop);
    TRY_ASSIGN(const local::Answer answer, connection->Call(std::move(request), deadline));
    return read(answer);
  }
  Future<T> Begin() && {
    return FutureOf<T>(Asking(std::move(connection), std::move(request), deadline), std::move(what),
                       std::move(read));
  }
};

}  // namespace hoplite::client
