#include <string>
#include <utility>

#include <fmt/format.h>

#include <hoplite/client.h>
#include <hoplite/reduction.h>

#include "base/clock.h"
#include "base/object_names.h"
#include "base/reduce_options.h"
#include "base/try.h"
#include "client/client_access.h"
#include "client/convert.h"
#include "client/empty.h"
#include "client/futures.h"
#include "client/interruption.h"
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
  message.set_name(RememberedName(target));
  if (options.alike) message.set_alike(*options.alike);
  message.set_root_here(options.root_here);
  message.set_fixed_order(options.fixed_order);
  message.set_degree(options.degree);
  message.set_everyone_reads(options.everyone_reads);
  message.set_owned(options.owned);
  message.set_only_if_owned(options.only_if_owned);
}

Error NoReduction() { return client::Empty("reduction", "Client::Reduce makes one"); }

}  // namespace

// The pending answer pins nothing, so that a handle which goes leaves it to the connection.
struct Reduction::State {
  detail::Asked asked;
  ObjectId target;

  client::Question& question() const { return ClientAccess::QuestionOf(asked); }

  Result<ReduceOutcome> Wait(std::chrono::milliseconds timeout, const std::stop_token& stop) const;
  Error NotYet(bool ask) const;
};

// In the words of a get of the target, unless the node is silent or can't be asked here.
Error Reduction::State::NotYet(bool ask) const {
  Error plain(ErrorCode::kTimeout, "the reduction into " + target.ToHex() + " is not done yet");
  if (!ask) return plain;
  Request request;
  request.mutable_why()->set_object(IdBytes(target));
  const Result<Answer> answer = question().connection()->Call(std::move(request), Now());
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
  return Reduction(std::shared_ptr<Reduction::State>(new Reduction::State{
      .asked = {client::Asking(state_->Now(deadline), std::move(request), deadline),
                "the reduction into " + target.ToHex()},
      .target = target}));
}

Reduction::Reduction() = default;
Reduction::Reduction(std::shared_ptr<State> state) : state_(std::move(state)) {}
Reduction::~Reduction() = default;
Reduction::Reduction(Reduction&&) noexcept = default;
Reduction& Reduction::operator=(Reduction&&) noexcept = default;

ObjectId Reduction::target() const { return state_ ? state_->target : ObjectId(); }

Result<ReduceOutcome> Reduction::Wait(std::chrono::milliseconds timeout,
                                      const std::stop_token& stop) const {
  if (!state_) return std::unexpected(NoReduction());
  return state_->Wait(timeout, stop);
}

Result<ReduceOutcome> Reduction::State::Wait(std::chrono::milliseconds timeout,
                                             const std::stop_token& stop) const {
  const client::Interruption by_caller(stop);
  const auto* answer = question().Wait(client::DeadlineAfter(timeout));
  if (answer == nullptr) {
    if (stop.stop_requested()) return std::unexpected(client::Interruption::Reason());
    Error not_yet = NotYet(timeout > timeout.zero());
    answer = question().Wait(Now());  // the reduction may have ended meanwhile
    if (answer == nullptr) return std::unexpected(std::move(not_yet));
  }
  if (!*answer) return std::unexpected(answer->error());
  return client::ToReduceOutcome((*answer)->reduced(), target);
}

bool Reduction::ready() const { return !state_ || state_->asked.ready(); }

void Reduction::CallWhenReady(std::function<void(const Outcome&)> fn) const {
  if (!state_) return fn([] { return Result<ReduceOutcome>(std::unexpected(NoReduction())); });
  state_->asked.OnReady([fn = std::move(fn), state = state_.get()] {
    fn([state] { return state->Wait(std::chrono::milliseconds(0), {}); });
  });
}

void Reduction::Cancel() {
  if (state_) state_->asked.Cancel();
}

const detail::Asked* ClientAccess::AskedOf(const Reduction& reduction) {
  return reduction.state_ ? &reduction.state_->asked : nullptr;
}

}  // namespace hoplite
