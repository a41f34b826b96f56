// ClientCalls: why an object that a client waits for is not complete here, in words for people. It
// joins what this node does about the object with what the object's shard says.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "node/clients/client_calls.h"
#include "node/core/counted.h"
#include "node/pull/flight.h"
#include "node/pull/read_back.h"
#include "node/put/publication.h"
#include "node/reduce/coordinator.h"
#include "node/reduce/slot.h"
#include "protocol/failure.h"

namespace hoplite::node {
namespace {

// A client waits for little more than that behind its deadline (client/patience.h).
constexpr Duration kAsksWhy = std::chrono::milliseconds(30);
constexpr std::size_t kMostAsking = 16;
constexpr Duration kAnswersWithin = std::chrono::seconds(1);  // of who asks with more patience

constexpr std::size_t kMostNamed = 20;  // nodes that wait, each in a line
constexpr std::size_t kMostInLine = 5;

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

// What is known of the source of a fetch, and of those behind it, that its receiver can't see.
class OfSource {
 public:
  OfSource(const protocol::ObjectView& view, const Flight& flight, NodeId self)
      : view_(view), flight_(flight), self_(self), holder_(HolderAt(flight.source())) {}

  std::string InWords() const {
    return holder_ == nullptr ? Maker() : Links() + Behind() + Others() + Maker();
  }

 private:
  const protocol::HolderView* HolderAt(NodeId node) const {
    const auto holder = std::ranges::find(view_.holders, node, &protocol::HolderView::node);
    return holder == view_.holders.end() ? nullptr : &*holder;
  }

  std::string Links() const {
    const std::string& name = holder_->node_name;
    const std::uint64_t link = holder_->bytes_per_second;
    std::string words;
    if (link > 0) {
      const std::string age = FormatAge(holder_->rate_age);
      words = fmt::format("; the link of {} {} {} a second{}", name,
                          age.empty() ? "carries" : "carried", FormatSize(link), age);
    }
    const std::optional<std::uint64_t> rate = flight_.bytes_per_second();
    const bool has_more = holder_->complete || holder_->valid_bytes > flight_.bytes();
    if (!rate || !has_more) return words;
    if (2 * *rate >= flight_.link().bytes_per_second) return words;
    if (link > 0 && 2 * *rate >= link) return words;
    return words + "; " + Slow(name, link > 0, *rate);
  }

  // Of this node's link its other streams show what it carries now; what was measured before may be so
  // no more.
  std::string Slow(const std::string& name, bool link_is_known, std::uint64_t rate) const {
    if (flight_.arriving() >= 2 * rate) {
      return name + (link_is_known ? " is slower than both links"
                                   : " or its link is slower than this node's link");
    }
    if (flight_.others_arrive()) {
      return "all that comes to this node is slower than that: its own link may be slower now";
    }
    return fmt::format("{}, {}or this node's link by now, is slower than that", name,
                       link_is_known ? "" : "its link ");
  }

  // Where a source gets the object that has only a part of it.
  std::string Behind() const {
    if (holder_->complete || holder_->producing) return "";
    std::string words = fmt::format("; {} itself has {} of {} bytes", holder_->node_name,
                                    holder_->valid_bytes, view_.size_bytes);
    const auto feeds =
        std::ranges::find(view_.transfers, holder_->node, &protocol::TransferView::to);
    if (feeds != view_.transfers.end())
      return words + " and gets the rest from " + feeds->from_name;
    const auto waits = std::ranges::find(view_.waiters, holder_->node, &protocol::WaiterView::node);
    return waits == view_.waiters.end() ? words : words + " and waits: " + waits->why;
  }

  std::string Others() const {
    std::vector<std::string> served;
    for (const protocol::TransferView& one : view_.transfers) {
      if (one.from == holder_->node && one.to != self_) served.push_back(one.to_name);
    }
    if (served.empty()) return "";
    return fmt::format("; {} also serves {}", holder_->node_name, NameSome(served, kMostInLine));
  }

  std::string Maker() const {
    const auto maker = std::ranges::find_if(
        view_.holders, [](const auto& one) { return one.producing && !one.complete; });
    if (maker == view_.holders.end()) return "";
    // A maker tells of its bytes now and then; what came from there it has.
    return fmt::format("; {}, which makes it, has {} of {} bytes so far", maker->node_name,
                       std::max(maker->valid_bytes, flight_.bytes()), view_.size_bytes);
  }

  const protocol::ObjectView& view_;
  const Flight& flight_;
  const NodeId self_;
  const protocol::HolderView* holder_;  // its source; null: none that the shard knows
};

// Where an object is that nobody waits for here.
std::string Places(const protocol::ObjectView& view) {
  if (view.inlined) return "its directory shard has it";
  std::vector<std::string> places;
  for (const protocol::HolderView& holder : view.holders) {
    places.push_back(holder.complete    ? holder.node_name + " has it"
                     : holder.producing ? holder.node_name + " makes it"
                                        : fmt::format("{} has {} of {} bytes", holder.node_name,
                                                      holder.valid_bytes, view.size_bytes));
  }
  return NameSome(places, kMostInLine);
}

std::string Elsewhere(const View& said) {
  if (!said) {
    return said.error().code == ErrorCode::kNotFound ? protocol::kDoesNotExist
                                                     : said.error().message;
  }
  if (const auto failure = protocol::FailureIn(said->metadata)) return failure->message;
  const std::string places = Places(*said);
  if (!places.empty()) return "nobody at this node waits for it; " + places;
  const auto& waiters = said->waiters;  // among them who makes it
  const bool nobody = std::ranges::all_of(
      waiters, [](const auto& one) { return one.why == protocol::kDoesNotExist; });
  return nobody && said->slots.empty() ? protocol::kDoesNotExist : "it does not exist yet";
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

// Of a reduction: which members lack memory, for a message of one line.
std::string Members(const protocol::ObjectView& view, NodeId self) {
  std::vector<std::string> members;
  for (const protocol::WaiterView& waiter : view.waiters) {
    const bool member = waiter.node != self && waiter.why.starts_with(kPartWaits);
    if (member) members.push_back(waiter.node_name + ": " + waiter.why);
  }
  return members.empty() ? "" : "; " + NameSome(members, kMostInLine, "; ");
}

// Of a node that waits for memory: who waits for some, too. Each may have what the other wants.
std::string CrowdedToo(const View& said, const std::string& self) {
  std::vector<std::string> others = said ? said->crowded : std::vector<std::string>();
  std::erase(others, self);
  if (others.empty()) return "";
  return fmt::format("; {} {} for memory, too: deleting objects there or here would help",
                     NameSome(others, kMostInLine), others.size() == 1 ? "waits" : "wait");
}

// Ends a sentence that begins with the object's name.
std::string AtDeadline(const std::string& lacks) {
  return "is not complete at the deadline: " + lacks;
}

// Of what is final here.
std::string Final(const std::string& object, const store::Copy& copy, const std::string& node) {
  const auto failure = protocol::FailureIn(copy.metadata());
  return failure ? fmt::format("{} has failed: {}", object, failure->message)
                 : fmt::format("{} is complete at {}{}", object, node,
                               copy.on_disk() ? ", on its disk" : "");
}

}  // namespace

// What this node waits for, by what it does about the object itself.
std::string ClientCalls::Missing(const ObjectEntry& entry, const Said& said) const {
  if (entry.read_back()) return entry.read_back()->Waiting();
  const bool arrives = entry.flight() && entry.flight()->copy();
  // Of a reduction, too: its coordinator puts a small target.
  if (std::string put = arrives ? "" : WhyPutWaits(context_, entry); !put.empty()) {
    const bool open = entry.publication() && !entry.publication()->accepted();
    const std::string own = open ? OwnWait(said, context_.settings.self) : "";
    return own.empty() ? put : put + ": " + own;
  }
  const std::string reduction = arrives ? "" : WhyReductionWaits(entry);
  if (!reduction.empty()) return "a reduction into it is under way: " + reduction;
  if (const auto& flight = entry.flight()) {
    const bool seen = arrives && said && *said;
    return flight->Waiting(OwnWait(said, context_.settings.self)) +
           (seen ? OfSource(**said, *flight, context_.settings.self).InWords() : "");
  }
  if (entry.target()) return "a reduction makes it here";
  return said ? Elsewhere(*said)
              : "it is not at this node, and its directory shard was not asked in time";
}

std::string ClientCalls::Lacks(const ObjectEntry& entry, const Said& said) const {
  std::string why = Missing(entry, said) + context_.IfAway(entry.object);
  if (said && why.contains(protocol::kNoMemory)) why += CrowdedToo(*said, name());
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
  std::string lacks = Lacks(entry, said);
  if (entry.coordinator() && said && *said) lacks += Members(**said, context_.settings.self);
  return {ErrorCode::kTimeout, name + ' ' + AtDeadline(lacks)};
}

net::Task<Error> ClientCalls::GaveUp(ObjectId object, CallPtr call, Time since) {
  co_return co_await Ended(UnderWay(object), std::move(call), since);
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
  const bool may_ask = !call->cancelled && call->deadline - since >= kAsksWhy;
  if (!may_ask) co_return WhyEnded(*entry, *call);
  std::optional<Flight::Interest> goes_on;  // or the shard knows of no wait
  if (entry->flight()) goes_on.emplace(entry->flight());
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
