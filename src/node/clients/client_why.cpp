// ClientCalls: why an object that a client waits for is not complete here, in words for people. It
// joins what this node does about the object with what the object's shard says.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "node/clients/client_calls.h"
#include "node/core/counted.h"
#include "node/pull/flight.h"
#include "node/put/publication.h"
#include "node/reduce/coordinator.h"
#include "protocol/failure.h"

namespace hoplite::node {
namespace {

// A client waits for little more than that behind its deadline (client/patience.h).
constexpr Duration kAsksWhy = std::chrono::milliseconds(30);
constexpr std::size_t kMostAsking = 16;
constexpr Duration kAnswersWithin = std::chrono::seconds(1);  // of who asks with more patience

constexpr std::size_t kMostNamed = 20;  // nodes that wait

using View = Result<protocol::ObjectView>;

// What the shard says that this node waits for; empty: nothing.
std::string OwnWait(const std::optional<View>& said, NodeId self) {
  if (!said) return "";
  if (!*said) {  // it was just started, and does not know yet
    return said->error().code == ErrorCode::kUnavailable ? said->error().message : "";
  }
  const auto own = std::ranges::find((*said)->waiters, self, &protocol::WaiterView::node);
  return own == (*said)->waiters.end() ? "" : own->why;
}

// Whether whoever makes the object, or the links, are what its receiver waits for.
std::string OfSource(const protocol::ObjectView& view, NodeId source) {
  const auto holder = std::ranges::find(view.holders, source, &protocol::HolderView::node);
  std::string words;
  if (holder != view.holders.end() && holder->bytes_per_second > 0) {
    words += fmt::format("; the link of {} carries {} a second", holder->node_name,
                         FormatSize(holder->bytes_per_second));
  }
  const auto maker = std::ranges::find_if(
      view.holders, [](const auto& one) { return one.producing && !one.complete; });
  if (maker != view.holders.end()) {
    words += fmt::format("; {}, which makes it, has {} of {} bytes so far", maker->node_name,
                         maker->valid_bytes, view.size_bytes);
  }
  return words;
}

// Where an object is that nobody waits for here.
std::string Places(const protocol::ObjectView& view) {
  if (view.inlined) return "its directory shard has it";
  std::string words;
  for (const protocol::HolderView& holder : view.holders) {
    if (!words.empty()) words += ", ";
    words += holder.complete ? fmt::format("{} has it", holder.node_name)
                             : fmt::format("{} has {} of {} bytes", holder.node_name,
                                           holder.valid_bytes, view.size_bytes);
  }
  return words;
}

std::string Elsewhere(const View& said) {
  if (!said) {
    return said.error().code == ErrorCode::kNotFound ? "it does not exist" : said.error().message;
  }
  if (const auto failure = protocol::FailureIn(said->metadata)) return failure->message;
  const std::string places = Places(*said);
  return places.empty() ? "it does not exist" : "nobody at this node waits for it; " + places;
}

// A line for each other node that waits.
std::string Others(const protocol::ObjectView& view, NodeId self) {
  std::string lines;
  std::size_t others = 0;
  for (const protocol::WaiterView& waiter : view.waiters) {
    if (waiter.node == self || ++others > kMostNamed) continue;
    lines += fmt::format("\n{} waits for it: {}", waiter.node_name, waiter.why);
  }
  if (others > kMostNamed) lines += fmt::format("\n{} more nodes wait for it", others - kMostNamed);
  return lines;
}

// Ends a sentence that begins with the object's name.
std::string AtDeadline(const std::string& lacks) {
  return "is not complete at the deadline: " + lacks;
}

// Of what is final here.
std::string Final(const std::string& object, const store::Copy& copy, const std::string& node) {
  const auto failure = protocol::FailureIn(copy.metadata());
  return failure ? fmt::format("{} has failed: {}", object, failure->message)
                 : fmt::format("{} is complete at {}", object, node);
}

}  // namespace

// What this node waits for, by what it does about the object itself.
std::string ClientCalls::Missing(const ObjectEntry& entry, const Said& said) const {
  const bool arrives = entry.flight() && entry.flight()->copy();
  const std::string reduction = arrives ? "" : WhyReductionWaits(entry);
  if (!reduction.empty()) return "a reduction into it is under way: " + reduction;
  if (const auto& flight = entry.flight()) {
    const bool seen = arrives && said && *said;
    return flight->Waiting(OwnWait(said, context_.settings.self)) +
           (seen ? OfSource(**said, flight->source()) : "");
  }
  if (std::string put = WhyPutWaits(context_, entry); !put.empty()) return put;
  if (entry.target()) return "a reduction makes it here";
  return said ? Elsewhere(*said)
              : "it is not at this node, and its directory shard was not asked in time";
}

std::string ClientCalls::Lacks(const ObjectEntry& entry, const Said& said) const {
  std::string why = Missing(entry, said) + context_.IfAway(entry.object);
  const bool told = !OwnWait(said, context_.settings.self).empty();
  const std::string loss = entry.loss().empty() ? "" : protocol::InWords(entry.loss());
  if (!told && !loss.empty() && !why.contains(loss)) why += "; " + loss;
  return why;
}

// What is under way of the object, which may be nothing.
EntryPtr ClientCalls::UnderWay(const ObjectId& object) const {
  const EntryPtr entry = context_.table.Find(object);
  return entry ? entry : std::make_shared<ObjectEntry>(object);
}

std::string ClientCalls::WhyUnfinished(const ObjectId& object) {
  return AtDeadline(Lacks(*UnderWay(object), std::nullopt));
}

// Why a wait ended without a result: the caller's own doing, with what was still missing.
Error ClientCalls::WhyEnded(const ObjectEntry& entry, const Call& call, const Said& said) const {
  const std::string name = "object " + entry.object.ToHex();
  if (call.cancelled) return {ErrorCode::kCancelled, "waiting for " + name + " was cancelled"};
  return {ErrorCode::kTimeout, name + ' ' + AtDeadline(Lacks(entry, said))};
}

Error ClientCalls::GaveUp(const ObjectId& object, const Call& call) {
  return WhyEnded(*UnderWay(object), call);
}

// None: the shard is away, or has been asked much already.
net::Task<ClientCalls::Said> ClientCalls::AskShard(ObjectId object, Duration patience) {
  const bool there = context_.directory.connected(context_.ShardOf(object));
  if (!there || asking_ >= kMostAsking) co_return std::nullopt;
  const Counted<> counted(asking_, 1);
  const auto question = std::make_shared<Call>(loop());
  question->deadline = Now() + patience;
  co_return co_await Info(object, question);
}

net::Task<Error> ClientCalls::Ended(EntryPtr entry, CallPtr call, Time since) {
  const std::shared_ptr<Flight> flight = entry->flight();
  const bool may_ask = !call->cancelled && call->deadline - since >= kAsksWhy;
  if (!may_ask || !flight || !flight->unserved()) co_return WhyEnded(*entry, *call);
  const Flight::Interest goes_on(flight);  // or the shard knows of no wait
  const Said said = co_await AskShard(entry->object, kAsksWhy);
  co_return WhyEnded(*entry, *call, said);
}

net::Task<Explanation> ClientCalls::Why(ObjectId object, CallPtr call) {
  std::optional<Flight::Interest> goes_on;  // or the shard knows of no wait
  if (const EntryPtr before = UnderWay(object); before->flight()) goes_on.emplace(before->flight());
  const Time until = std::min(call->deadline, Now() + kAnswersWithin);
  const Said said = co_await AskShard(object, std::max<Duration>(until - Now(), kAsksWhy));
  Explanation why;
  const std::string id = "object " + object.ToHex();
  const store::CopyPtr copy = context_.store.Find(object);
  if (copy && copy->state() == store::CopyState::kFinal) {
    why.text = Final(id, *copy, name());
  } else {
    const std::string lacks = Lacks(*UnderWay(object), said);
    why.unfinished = AtDeadline(lacks);
    why.text = fmt::format("{} is not complete at {}: {}", id, name(), lacks);
  }
  if (said && *said) why.text += Others(**said, context_.settings.self);
  co_return why;
}

}  // namespace hoplite::node
