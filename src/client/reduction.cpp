#include <string>
#include <utility>

#include <fmt/format.h>

#include <hoplite/client.h>
#include <hoplite/reduction.h>

#include "base/clock.h"
#include "base/reduce_options.h"
#include "base/try.h"
#include "client/client_access.h"
#include "client/convert.h"
#include "client/pending.h"

namespace hoplite {
namespace {

using client::IdBytes;
using client::local::Answer;
using client::local::Reduce;
using client::local::Request;

void Fill(const ReduceOptions& options, const ObjectId& target, Reduce& message) {
  message.set_target(IdBytes(target));
  for (const ObjectId& source : options.sources) message.add_sources(IdBytes(source));
  message.set_op(static_cast<std::uint32_t>(options.op));
  if (options.dtype) message.set_dtype(static_cast<std::uint32_t>(*options.dtype));
  message.set_folded_bytes(options.folded_bytes);
  if (options.num_objects) message.set_num_objects(*options.num_objects);
  message.set_metadata(options.metadata);
  if (options.alike) message.set_alike(*options.alike);
  message.set_root_here(options.root_here);
  message.set_fixed_order(options.fixed_order);
  message.set_degree(options.degree);
  message.set_everyone_reads(options.everyone_reads);
  message.set_owned(options.owned);
  message.set_only_if_owned(options.only_if_owned);
}

}  // namespace

// The pending answer pins nothing, so that a handle which goes leaves it to the connection.
struct Reduction::State {
  client::Question question;
  ObjectId target;

  Error NotYet(bool ask) const;
};

// In the words of a get of the target, unless the node is silent or can't be asked here.
Error Reduction::State::NotYet(bool ask) const {
  Error plain(ErrorCode::kTimeout, "the reduction into " + target.ToHex() + " is not done yet");
  if (!ask) return plain;
  Request request;
  request.mutable_why()->set_object(IdBytes(target));
  const Result<Answer> answer = question.connection()->Call(std::move(request), Now());
  if (!answer || answer->reason().unfinished().empty()) return plain;
  return {ErrorCode::kTimeout, "object " + target.ToHex() + ' ' + answer->reason().unfinished()};
}

Result<Reduction> Client::Reduce(const ReduceOptions& options) {
  TRY(CheckReduceOptions(options));
  const ObjectId target = options.target == ObjectId() ? ObjectId::Random() : options.target;
  const Time deadline = client::DeadlineAfter(options.timeout);
  Request request;
  Fill(options, target, *request.mutable_reduce());
  client::SetGrace(options.grace, request);
  auto connection = state_->Now(deadline);
  client::PendingPtr pending = connection->Begin(std::move(request), deadline);
  return Reduction(std::shared_ptr<Reduction::State>(new Reduction::State{
      .question = {std::move(connection), std::move(pending), deadline}, .target = target}));
}

Reduction::Reduction(std::shared_ptr<State> state) : state_(std::move(state)) {}
Reduction::~Reduction() = default;
Reduction::Reduction(Reduction&&) noexcept = default;
Reduction& Reduction::operator=(Reduction&&) noexcept = default;

ObjectId Reduction::target() const { return state_->target; }

Result<ReduceOutcome> Reduction::Wait(std::chrono::milliseconds timeout) const {
  const auto* answer = state_->question.Wait(client::DeadlineAfter(timeout));
  if (answer == nullptr) {
    Error not_yet = state_->NotYet(timeout > timeout.zero());
    answer = state_->question.Wait(Now());  // the reduction may have ended meanwhile
    if (answer == nullptr) return std::unexpected(std::move(not_yet));
  }
  if (!*answer) return std::unexpected(answer->error());
  return client::ToReduceOutcome((*answer)->reduced(), target());
}

bool Reduction::ready() const { return state_->question.ready(); }

void Reduction::OnReady(std::function<void()> fn) const { state_->question.OnReady(std::move(fn)); }

void Reduction::Cancel() {
  state_->question.GiveUp(
      Error(ErrorCode::kCancelled,
            fmt::format("the reduction into {}: the caller cancelled", target().ToHex())));
}

const client::Question* ClientAccess::QuestionOf(const Reduction& reduction) {
  return &reduction.state_->question;
}

}  // namespace hoplite
