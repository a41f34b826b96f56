#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/future.h>
#include <hoplite/reduction.h>

#include "base/clock.h"
#include "client/client_access.h"
#include "client/empty.h"
#include "client/interruption.h"
#include "client/question.h"

namespace hoplite {

using client::Question;

namespace detail {
namespace {

// Of what is settled here: no node has to hear that it is given up.
std::unique_ptr<Question> QuestionBeside(std::shared_ptr<client::Connection> connection) {
  auto pending = std::make_shared<client::Pending>(0);
  const auto give_up = [connection, pending](Error why) {
    connection->Settle(*pending, std::unexpected(std::move(why)));
  };
  return std::make_unique<Question>(std::move(connection), std::move(pending), kNever, give_up);
}

// Whose thread calls what a future of these is given: where nobody has one, whoever settles it.
std::shared_ptr<client::Connection> ConnectionOf(const std::vector<Asked*>& before) {
  for (const Asked* one : before) {
    const auto& connection = ClientAccess::QuestionOf(*one).connection();
    if (connection->has_reader()) return connection;
  }
  return client::Connection::Ended(Error(ErrorCode::kCancelled, "there is no client"));
}

}  // namespace

Error EmptyFuture() { return client::Empty("future", "a call that is named Async makes one"); }
Error TakenAnswer() {
  return {ErrorCode::kInvalidArgument, "the answer was taken before: it can't be copied"};
}

Asked::Asked(std::unique_ptr<Question> question, std::string what)
    : question_(std::move(question)), what_(std::move(what)) {}

Asked::Asked(std::vector<Asked*> before)
    : question_(QuestionBeside(ConnectionOf(before))),
      what_("the outcome"),
      before_(std::move(before)) {}

Asked::~Asked() = default;

bool Asked::ready() const { return question_->ready(); }

std::optional<Error> Asked::Await(std::chrono::milliseconds timeout,
                                  const std::stop_token& stop) const {
  const client::Interruption by_caller(stop);
  const Question::Answer* answer = question_->Wait(client::DeadlineAfter(timeout));
  if (answer == nullptr && stop.stop_requested()) return client::Interruption::Reason();
  if (answer == nullptr) return Error(ErrorCode::kTimeout, what_ + " is not there yet");
  if (question_->inherited()) return answer->error();
  return std::nullopt;
}

void Asked::OnReady(std::function<void()> fn) const { question_->OnReady(std::move(fn)); }

void Asked::Cancel() {
  question_->GiveUp(Error(ErrorCode::kCancelled, what_ + ": the caller cancelled"));
  for (Asked* one : before_) one->Cancel();
}

void Asked::Settle() {
  question_->connection()->Settle(question_->pending(), client::local::Answer());
}

std::optional<Error> Asked::failure() const {
  const Question::Answer& outcome = question_->pending().outcome();
  return outcome ? std::nullopt : std::optional(outcome.error());
}

void Asked::Forget() {
  question_->Forget();
  for (Asked* one : before_) one->Forget();
}

void Asked::Drop() {
  if (!question_->inherited()) question_->Drop();
}

}  // namespace detail

const Question* ClientAccess::QuestionOf(const Waitable& waitable) {
  return waitable.asked_ == nullptr ? nullptr : waitable.asked_->question_.get();
}

Waitable::Waitable(const Reduction& reduction) : asked_(ClientAccess::AskedOf(reduction)) {}

Result<std::size_t> WaitAny(std::span<const Waitable> any, std::chrono::milliseconds timeout,
                            const std::stop_token& stop) {
  if (any.empty()) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument, "nothing to wait for"));
  }
  const client::Interruption by_caller(stop);
  Time until = client::DeadlineAfter(timeout);
  std::vector<const Question*> questions;
  std::vector<client::Pending*> pendings;
  for (const Waitable& one : any) {
    const Question* question = ClientAccess::QuestionOf(one);
    if (question == nullptr || question->inherited()) return pendings.size();
    // Who waits there keeps the answers away.
    if (question->connection()->on_reader()) until = std::min(until, Now());
    questions.push_back(question);
    pendings.push_back(&question->pending());
  }
  for (;;) {
    const Question* next = *std::ranges::min_element(questions, {}, &Question::last);
    const Time last = next->last();
    const auto first = client::WaitForAny(pendings, std::min(until, last));
    if (first) return *first;
    if (stop.stop_requested()) return std::unexpected(client::Interruption::Reason());
    if (until <= last || client::Interruption::Wanted()) {
      return std::unexpected(Error(ErrorCode::kTimeout, "none became ready"));
    }
    if (Now() >= next->last()) next->GiveUpSilent();
  }
}

}  // namespace hoplite
