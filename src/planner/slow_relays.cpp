#include "planner/slow_relays.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace hoplite::planner {
namespace {

constexpr Duration kSampled = std::chrono::milliseconds(200);
// So long after its first bytes a receiver that passes another must be so much faster.
constexpr Duration kTrial = std::chrono::milliseconds(150);
constexpr double kFaster = 2;
// Before them its old stream ends, and a connection is made: round trips, and a busy host's time.
constexpr Duration kMayConnect = std::chrono::seconds(3);
// Who proved to be as fast is not suspected for so long: a busy moment may have spoken for it.
constexpr Duration kCleared = std::chrono::seconds(5);
// Passing costs a moment: what is left must take longer.
constexpr double kWorthwhileSeconds = 1;
// A source has bytes if it is ahead by more than what is under way and not yet reported.
constexpr std::uint64_t kReadyBlocks = 4;
constexpr double kReadySeconds = 0.1;

// How far behind a suspect somebody faster is looked for.
constexpr int kDeepest = 8;

constexpr std::uint64_t kEverything = std::numeric_limits<std::uint64_t>::max();

// Whoever feeds the first of its stripes; none if nobody does. Of several groups: who feeds all that
// it gets; of several sources each may be the one that others wait for, but in a forest, where what
// all of them have ready tells who holds up whom.
const Feed* FeedOf(const Copy* copy, const CopyTable& table) {
  if (copy == nullptr || copy->final() || copy->fed() == 0) return nullptr;
  const Feed& first = copy->feed(static_cast<std::size_t>(std::countr_zero(copy->fed())));
  const bool one_source = table.group_count() == 1 || first.stripes == copy->fed();
  return one_source || table.forest() ? &first : nullptr;
}

// The stripes by which a receiver and its source are compared.
StripeMask Compared(const Feed& feed, const CopyTable& table) {
  return table.group_count() == 1 ? table.layout().all_stripes() : feed.stripes;
}

std::uint64_t ReadyBlocks(const Copy& receiver, const Feed& feed, const CopyTable& table) {
  const Copy* source = table.Find(feed.source);
  if (source == nullptr) return 0;
  if (source->complete) return kEverything;
  const StripeMask stripes = Compared(feed, table);
  const std::uint64_t has = source->progress(stripes);
  return has - std::min(has, receiver.progress(stripes));
}

// Of all that its sources have more than it.
std::uint64_t ReadyBlocks(const Copy& receiver, const CopyTable& table) {
  std::uint64_t ready = 0;
  for (const Feed& feed : receiver.flow().feeds) {
    const std::uint64_t from_there = feed.lost() ? 0 : ReadyBlocks(receiver, feed, table);
    ready = from_there == kEverything ? kEverything : ready + from_there;
    if (ready == kEverything) break;
  }
  return ready;
}

double Bytes(std::uint64_t blocks, const CopyTable& table) {
  return static_cast<double>(blocks) * table.layout().block_bytes;
}

// One that it feeds; leaves hold nobody up and are not moved.
NodeId FirstBehind(NodeId source, const CopyTable& table) {
  for (const GrantId grant : table.Find(source)->flow().serving) {
    const OpenGrant& open = table.grants().at(grant);
    if (!open.leaf) return open.receiver;
  }
  return kNoNode;
}

// It has more, and less of no stripe: in the object's order two copies differ in few stripes.
bool IsAhead(const Copy& one, const Copy& other, StripeMask stripes) {
  return one.progress(stripes) > other.progress(stripes) &&
         std::ranges::none_of(StripesOf(stripes), [&](std::uint32_t stripe) {
           return one.marks[stripe] < other.marks[stripe];
         });
}

}  // namespace

void SlowRelays::Note(NodeId receiver, double in_all, const CopyTable& table, NodeTable& nodes,
                      Time now) {
  const Copy* copy = table.Find(receiver);
  const Feed* feed = FeedOf(copy, table);
  if (feed == nullptr) {
    samples_.erase(receiver);
    return;
  }
  Sample& sample = samples_[receiver];
  const std::uint64_t has = copy->progress();
  const std::uint64_t ready =
      table.forest() ? ReadyBlocks(*copy, table) : ReadyBlocks(*copy, *feed, table);
  sample.ready = std::min(sample.ready, ready);
  if (sample.grant != feed->grant || !sample.flowing) {
    const bool flowing = sample.grant == feed->grant && has > sample.had;
    sample = {feed->grant, now, has, ready, flowing};
    return;
  }
  const Duration elapsed = now - sample.since;
  if (elapsed < kSampled) return;
  if (has >= sample.had) {
    const double own = Bytes(has - sample.had, table) / ToSeconds(elapsed);
    const double rate = std::max(own, in_all);  // its link carries other objects, too
    const double under_way = std::max(Bytes(kReadyBlocks, table), kReadySeconds * own);
    if (sample.ready == kEverything || Bytes(sample.ready, table) >= under_way) {
      nodes.NoteCarried(receiver, rate);
      Judge(receiver, rate, table, nodes, now);
    }
  }
  sample = {feed->grant, now, has, ready, true};
}

// Suspects it if somebody behind it should be much faster.
void SlowRelays::Judge(NodeId receiver, double bytes_per_second, const CopyTable& table,
                       const NodeTable& nodes, Time now) {
  const Copy& copy = *table.Find(receiver);
  if (passing_ || suspect_ != kNoNode || copy.flow().serving.empty()) return;
  if (const auto cleared = cleared_.find(receiver); cleared != cleared_.end()) {
    if (now - cleared->second < kCleared) return;
  }
  const std::uint64_t all = table.layout().block_count();
  if (Bytes(all - copy.progress(), table) < kWorthwhileSeconds * bytes_per_second) return;
  NodeId at = receiver;
  for (int depth = 0; depth < kDeepest; ++depth) {
    at = FirstBehind(at, table);
    if (at == kNoNode) return;
    if (nodes.ExpectedToCarry(at, receiver) <= kFaster * bytes_per_second) continue;
    suspect_ = receiver;
    faster_ = at;
    return;
  }
}

void SlowRelays::Closed(GrantId grant, const CopyTable& table) {
  if (!passing_ || passing_->replaced != grant) return;
  passing_->replaced = {};
  if (const Copy* faster = table.Find(passing_->faster)) passing_->faster_had = faster->progress();
}

void SlowRelays::Act(const CopyTable& table, SourceSelector& selector, Time now) {
  if (passing_) return Continue(table, selector, now);
  if (suspect_ != kNoNode) Begin(table, selector, now);
}

void SlowRelays::Begin(const CopyTable& table, SourceSelector& selector, Time now) {
  const NodeId slow = std::exchange(suspect_, kNoNode);
  // Nobody needs its place: a forest has other holders.
  if (table.forest()) return selector.LeaveHome(slow);
  const Feed* feed = FeedOf(table.Find(slow), table);
  const Feed* behind = FeedOf(table.Find(faster_), table);
  if (feed == nullptr || behind == nullptr) return;
  const NodeId source = feed->source;
  const NodeId former = behind->source;
  const GrantId replaced = behind->grant;
  if (!selector.MoveTo(faster_, source)) return;
  passing_ = {.slow = slow,
              .faster = faster_,
              .source = source,
              .former = former,
              .replaced = replaced,
              .since = now,
              .faster_had = table.Find(faster_)->progress()};
}

void SlowRelays::Continue(const CopyTable& table, SourceSelector& selector, Time now) {
  Passing& p = *passing_;
  const Copy* slow = table.Find(p.slow);
  const Copy* faster = table.Find(p.faster);
  const auto fed_by_source = [&](const Copy* copy) {
    const Feed* feed = FeedOf(copy, table);
    return feed != nullptr && feed->source == p.source;
  };
  if (!fed_by_source(slow) || !fed_by_source(faster)) return passing_.reset();
  if (IsAhead(*faster, *slow, Compared(*FeedOf(slow, table), table))) {
    if (selector.MoveBehindOthers(p.slow)) passing_.reset();
    return;
  }
  if (!p.flows) {
    const bool comes = !p.replaced && faster->progress() > p.faster_had;
    if (!comes && now - p.since < kMayConnect) return;
    p.flows = true;
    p.since = now;
    p.slow_had = slow->progress();
    p.faster_had = faster->progress();
  }
  if (now - p.since < kTrial) return;
  const auto slow_got = static_cast<double>(slow->progress() - p.slow_had);
  const auto faster_got = static_cast<double>(faster->progress() - p.faster_had);
  if (faster_got >= kFaster * slow_got || !selector.MoveTo(p.faster, p.former)) return;
  cleared_[p.slow] = now;
  passing_.reset();
}

}  // namespace hoplite::planner
