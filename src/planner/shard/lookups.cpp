#include "planner/shard/lookups.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "planner/copies/broadcast_cost.h"

namespace hoplite::planner {
namespace {

// Of what a holder keeps of Gives (R83), half is for its own.
constexpr std::uint64_t kMostOwedBytes = 2_MiB;
// Its link may be slower than believed: bytes that the shard sends as well stand before its own link.
constexpr Duration kHolderPatience = std::chrono::milliseconds(200);

}  // namespace

void Lookups::On(NodeId node, const Locate& event) {
  if (post_.AnswerDeleted(event.object, node)) return;
  ObjectRecord& record = objects_.Touch(event.object, node);
  // In an inventory copies come before requests: one that was not repeated by now is gone (R15).
  const Copy* own = record.table.Find(node);
  if (own != nullptr && !own->live) versions_.DropCopy(event.object, record, node);
  if (!record.coming() && post_.AnswerFailed(event.object, node, {}, event.number)) return;
  Waiting& waiting = record.waits.Make();
  waiting.locates.erase({node});
  waiting.locates.insert({node, event.room, event.number, event.joint});
  if (event.expects != 0) waiting.Expect(node, event.expects);
  if (!record.exists() && !waiting.loss.empty()) {
    post_.Send(node, HolderLost{event.object, waiting.loss});
  }
}

void Lookups::On(NodeId node, const CancelLocate& event) {
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr) return;
  record->waits.Make().ForgetQuestion(node);
}

void Lookups::ResolveLocates(const ObjectId& id, ObjectRecord& record) {
  giving_.Erase(id);
  if (!record.waits || !record.exists() || record.withheld()) return;
  if (record.inline_bytes != nullptr) {
    Give(id, record);
  } else {
    AnswerWhere(id, record);
  }
  const Waiting& waiting = *record.waits;
  std::erase_if(record.waits->expectations, [&](const Expectation& one) {
    return !waiting.subscribers.contains(one.node) && !waiting.locates.contains({one.node});
  });
}

void Lookups::AnswerWhere(const ObjectId& id, ObjectRecord& record) {
  const Layout& layout = record.table.layout();
  for (const Asking& one : std::exchange(record.waits->locates, {})) {
    const bool has_room = one.room != 0 && layout.size_bytes <= one.room;
    const bool wanted = has_room && transfers_.Wants(record, one.node, one.joint);
    post_.Send(one.node, Located{id, record.version, layout, record.metadata.OrEmpty(),
                                 owners_.Knows(id), wanted ? one.number : 0});
  }
}

// Whoever waited in vain is answered by the shard itself: any node of a list may have failed.
void Lookups::Give(const ObjectId& id, ObjectRecord& record) {
  const std::uint64_t bytes = record.inline_bytes->size();
  const Asked asked = AskedOf(record);
  if (LeavesFromHolder(asked.first, record)) {
    LetHolderGive(asked.first, id, record);
  } else if (inline_pace_.Allows(asked.first.size() * bytes, clock_.now(), nodes_.link())) {
    for (const Asking& one : asked.first) GiveTo(one.node, id, record);
  } else if (Gathers(record)) {
    const Duration patience = Patience(record, asked.first.size());
    for (const Asking& one : asked.first) Await(one, record, patience, false);
  } else {
    GiveTogether(asked.first, id, record);
  }
  for (const Asking& one : asked.in_vain) GiveTo(one.node, id, record);
  AwaitGives(id, record);
}

// While the link is full. The first reader has nothing to gain from that, and of a link that nobody
// measured it is not known.
bool Lookups::Gathers(const ObjectRecord& record) const {
  return record.inline_read && !nodes_.link().guessed && LinkIsFree(record) > clock_.now();
}

Time Lookups::LinkIsFree(const ObjectRecord& record) const {
  return inline_pace_.AllowsFrom(record.inline_bytes->size(), clock_.now(), nodes_.link());
}

// Site by site, and in ring order from the producer, so that of many objects each node hands on as
// much as another, and to the same few nodes.
Lookups::Asked Lookups::AskedOf(const ObjectRecord& record) const {
  Asked asked;
  for (const Asking& one : record.waiting().locates) {
    const bool waits = one.version == record.version;
    if (waits && one.until <= clock_.now()) {
      asked.in_vain.push_back(one);
    } else if (!waits || !one.given) {
      asked.first.push_back(one);
    }
  }
  const NodeId producer = record.putter.node;
  const auto next = std::ranges::upper_bound(asked.first, producer, {}, &Asking::node);
  std::ranges::rotate(asked.first, next);
  if (nodes_.HasSites()) {
    std::ranges::sort(asked.first, {}, [&](const Asking& one) {
      return std::pair(std::string_view(nodes_.SiteOf(one.node)),
                       Raw(one.node) - Raw(producer) - 1);
    });
  }
  return asked;
}

std::span<const Asking> Lookups::OfOneSite(std::span<const Asking> askers, std::size_t most) const {
  const std::string& site = nodes_.SiteOf(askers.front().node);
  const auto together = std::ranges::find_if(
      askers, [&](const Asking& one) { return nodes_.SiteOf(one.node) != site; });
  return askers.first(std::min<std::size_t>(together - askers.begin(), most));
}

void Lookups::GiveTo(NodeId node, const ObjectId& id, ObjectRecord& record,
                     std::vector<Onward> onward) {
  record.waits->locates.erase({node});
  record.inline_read = true;
  inline_pace_.Left(record.inline_bytes->size(), clock_.now(), nodes_.link());
  post_.Send(node, InlineObject{id, record.version, record.metadata.OrEmpty(), record.inline_bytes,
                                std::move(onward)});
}

void Lookups::GiveTogether(std::span<const Asking> askers, const ObjectId& id,
                           ObjectRecord& record) {
  while (!askers.empty()) {
    const auto together = OfOneSite(askers, 1 + InlineObject::kMostOnward);
    const Duration patience = Patience(record, together.size());
    GiveTo(together.front().node, id, record, AwaitAll(together.subspan(1), record, patience));
    askers = askers.subspan(together.size());
  }
}

// One who wants many objects would find the shard's link full of them, and each holder's idle.
bool Lookups::LeavesFromHolder(std::span<const Asking> askers, const ObjectRecord& record) const {
  if (record.inline_bytes->size() < options_.holder_gives_from_bytes) return false;
  if (std::ranges::none_of(askers, &Asking::joint)) return false;
  const Copy* copy = record.table.Find(record.putter.node);
  if (copy == nullptr || !copy->live || !copy->complete || copy->on_disk) return false;
  const std::uint64_t bytes = askers.size() * record.inline_bytes->size();
  const Duration most = InlinePace::Takes(kMostOwedBytes, SlowLink());
  if (nodes_.Find(record.putter.node)->gives_until > clock_.now() + most) return false;
  return !inline_pace_.AllowsOneOfMany(bytes, clock_.now(), SlowLink());
}

LinkModel Lookups::SlowLink() const { return SlowIfGuessed(nodes_.link(), true); }

void Lookups::LetHolderGive(std::span<const Asking> askers, const ObjectId& id,
                            ObjectRecord& record) {
  const NodeId holder = record.putter.node;
  const Duration one = InlinePace::Takes(record.inline_bytes->size(), SlowLink());
  while (!askers.empty()) {
    const auto together = OfOneSite(askers, InlineObject::kMostOnward);
    askers = askers.subspan(together.size());
    if (nodes_.SiteOf(together.front().node) != nodes_.SiteOf(holder)) {
      GiveTogether(together, id, record);
      continue;
    }
    const Duration takes = std::bit_width(together.size()) * one;
    const Duration ahead = nodes_.NoteGives(holder, takes, clock_.now()) - clock_.now();
    GiveCopy give{.object = id, .version = record.version};
    give.onward = AwaitAll(together, record, kHolderPatience + 4 * ahead);
    post_.Send(holder, std::move(give));
  }
}

Duration Lookups::Patience(const ObjectRecord& record, std::size_t together) const {
  return std::max(options_.give_patience,
                  PatienceOfGive(record.inline_bytes->size(), together, nodes_.link()));
}

std::vector<Onward> Lookups::AwaitAll(std::span<const Asking> askers, ObjectRecord& record,
                                      Duration patience) {
  std::vector<Onward> onward;
  for (const Asking& one : askers) {
    onward.push_back({nodes_.Find(one.node)->info, one.number});
    Await(one, record, patience, true);
  }
  return onward;
}

void Lookups::Await(Asking one, ObjectRecord& record, Duration patience, bool given) {
  const bool gathers = one.version == record.version;
  if (!gathers || given) one.until = clock_.now() + patience;
  one.version = record.version;
  one.given = given;
  record.waits->locates.erase(one);
  record.waits->locates.insert(one);
}

void Lookups::AwaitGives(const ObjectId& id, const ObjectRecord& record) {
  Time next = kNever;
  for (const Asking& one : record.waiting().locates) {
    next = std::min({next, one.until, one.given ? kNever : LinkIsFree(record)});
  }
  if (next != kNever) giving_.Insert(id, next);
}

void Lookups::On(NodeId node, const Subscribe& event) {
  post_.AnswerDeleted(event.object, node);
  ObjectRecord& record = objects_.Touch(event.object, node);
  Waiting& waiting = record.waits.Make();
  waiting.subscribers.insert(node);
  if (event.expects != 0) waiting.Expect(node, event.expects);
  const auto tell = [&](NodeId holder, LocationKind kind) {
    post_.NotifyOne(node, event.object, record, holder, kind);
  };
  if (!record.coming()) post_.AnswerFailed(event.object, node);
  if (!record.exists() && !waiting.loss.empty()) {
    post_.Send(node, HolderLost{event.object, waiting.loss});
  }
  if (record.inline_bytes != nullptr) tell(kNoNode, LocationKind::kInline);
  for (const auto& [holder, copy] : record.table.copies()) {
    if (copy.listed) tell(holder, copy.complete ? LocationKind::kComplete : LocationKind::kPartial);
  }
}

void Lookups::On(NodeId node, const Unsubscribe& event) {
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr) return;
  Waiting& waiting = record->waits.Make();
  waiting.subscribers.erase(node);
  if (!waiting.locates.contains({node})) waiting.DropExpectation(node);
}

void Lookups::AnswerUnowned(const ObjectId& id, ObjectRecord& record) {
  for (const Expectation& one : std::exchange(record.waits->expectations, {})) {
    post_.Send(one.node, Unowned{id, one.number});
  }
}

}  // namespace hoplite::planner
