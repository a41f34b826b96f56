#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <hoplite/client.h>
#include <hoplite/reduction.h>

#include "base/clock.h"
#include "base/reduce_options.h"
#include "base/try.h"
#include "client/client_access.h"
#include "client/convert.h"
#include "client/infos.h"
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
  message.set_dtype(static_cast<std::uint32_t>(options.dtype));
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

// A live node says at once what it knows; one that does not answer is not waited for.
constexpr std::chrono::milliseconds kPatience(100);
constexpr std::size_t kMostNamed = 8;

// Those of the sources that are complete nowhere, as far as the node knows; none if it can't be
// asked here and now.
std::optional<std::vector<ObjectId>> Missing(client::Connection& connection,
                                             const std::vector<ObjectId>& sources, Time until) {
  if (connection.on_reader() || client::Interruption::Wanted()) return std::nullopt;
  Request request;
  for (const ObjectId& source : sources)
    request.mutable_wait_exists()->add_objects(IdBytes(source));
  request.mutable_wait_exists()->set_count(static_cast<std::uint32_t>(sources.size()));
  const client::PendingPtr pending = connection.Begin(std::move(request), Now());
  if (!client::WaitFor(*pending, until)) {
    connection.Drop(pending);
    return std::nullopt;
  }
  if (!pending->outcome()) return std::nullopt;
  std::vector<bool> there(sources.size());
  for (const std::uint32_t place : (*pending->outcome()).existing().places()) {
    if (place < there.size()) there[place] = true;
  }
  std::vector<ObjectId> missing;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!there[i]) missing.push_back(sources[i]);
  }
  return missing;
}

// Why the object is not there, in the words of its shard; empty: no more is known than that.
std::string WhyMissing(client::Connection& connection, const ObjectId& object, Time until) {
  const client::PendingPtr pending = connection.Begin(client::InfoOf(std::span(&object, 1)), until);
  if (!client::WaitFor(*pending, until)) {
    connection.Drop(pending);
    return {};
  }
  const Result<client::local::Answer>& answer = pending->outcome();
  if (!answer || answer->infos().got_size() != 1) return {};
  const auto info = client::ReadInfo(answer->infos().got(0));
  if (info) {  // the reduction itself waits for it, and its shard says for what
    const bool waits = info->holders.empty() && !info->waiters.empty();
    return waits ? "; " + info->waiters.front().why : std::string();
  }
  const Error& why = info.error();
  const bool told = why.code != ErrorCode::kNotFound && why.code != ErrorCode::kTimeout;
  return told ? "; " + why.message : std::string();
}

std::string Words(const std::vector<ObjectId>& missing, std::size_t sources) {
  if (missing.empty()) return "all its sources are there";
  std::string text = fmt::format("{} of {} sources are missing", missing.size(), sources);
  for (std::size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i) {
    text += (i == 0 ? ": " : ", ") + missing[i].ToHex();
  }
  if (missing.size() > kMostNamed) text += fmt::format(" and {} more", missing.size() - kMostNamed);
  return text;
}

}  // namespace

// The pending answer pins nothing, so that a handle which goes leaves it to the connection.
struct Reduction::State {
  client::Question question;
  ObjectId target;
  std::vector<ObjectId> sources;

  Error NotYet(bool ask) const;
};

Error Reduction::State::NotYet(bool ask) const {
  std::string text = fmt::format("the reduction into {} is not done yet", target.ToHex());
  const Time until = Now() + kPatience;
  client::Connection& connection = *question.connection();
  const auto missing = ask ? Missing(connection, sources, until) : std::nullopt;
  if (missing) text += ": " + Words(*missing, sources.size());
  if (missing && !missing->empty()) text += WhyMissing(connection, missing->front(), until);
  return {ErrorCode::kTimeout, text};
}

Result<Reduction> Client::Reduce(const ReduceOptions& options) {
  TRY(CheckReduceOptions(options));
  const ObjectId target = options.target == ObjectId() ? ObjectId::Random() : options.target;
  const Time deadline = client::DeadlineAfter(options.timeout);
  Request request;
  Fill(options, target, *request.mutable_reduce());
  auto connection = state_->Now(deadline);
  client::PendingPtr pending = connection->Begin(std::move(request), deadline);
  return Reduction(std::shared_ptr<Reduction::State>(
      new Reduction::State{.question = {std::move(connection), std::move(pending), deadline},
                           .target = target,
                           .sources = options.sources}));
}

Reduction::Reduction(std::shared_ptr<State> state) : state_(std::move(state)) {}
Reduction::~Reduction() = default;
Reduction::Reduction(Reduction&&) noexcept = default;
Reduction& Reduction::operator=(Reduction&&) noexcept = default;

const ObjectId& Reduction::target() const { return state_->target; }

Result<ReduceOutcome> Reduction::Wait(std::chrono::milliseconds timeout) const {
  const auto* answer = state_->question.Wait(client::DeadlineAfter(timeout));
  if (answer == nullptr) {
    return std::unexpected(state_->NotYet(timeout > timeout.zero()));
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
