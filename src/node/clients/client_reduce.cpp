// ClientCalls: how a Reduce of a client starts.
#include <utility>

#include "base/reduce_options.h"
#include "base/try.h"
#include "node/clients/client_calls.h"
#include "node/reduce/coordinator.h"

namespace hoplite::node {

net::Task<Result<ReduceOutcome>> ClientCalls::Reduce(ReduceOptions options, CallPtr call) {
  if (options.target == ObjectId()) options.target = ObjectId::Random();
  CO_TRY(CheckReduceOptions(options));
  const EntryPtr entry = context_.table.At(options.target);
  CO_TRY(Usable(*entry));
  CO_TRY(TakesNew());
  if (entry->coordinator() || entry->publication()) {
    co_return std::unexpected(
        Error(ErrorCode::kAlreadyExists,
              "object " + options.target.ToHex() + " is being made by another call already"));
  }
  if (options.owned) CO_TRY(MayOwn(options.target, *call));
  call->owned = options.owned;  // if it is small, this call creates it
  const auto coordinator = std::make_shared<Coordinator>(context_, *this, entry, std::move(options),
                                                         call, ++reductions_);
  entry->Begin(coordinator);
  const WaitingCall waiting(entry, call);
  const Time begun = Now();
  const ObjectId target = entry->object;
  context_.Note(Decided::kReduces, target);
  auto outcome = co_await coordinator->Run();
  context_.Note(Decided::kReduced, target, outcome ? "" : Name(outcome.error().code));
  if (outcome) context_.counters.reduce_latency.Add(Now() - begun);
  co_return outcome;
}

}  // namespace hoplite::node
