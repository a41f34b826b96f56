#include "planner/slow_relays.h"

#include <algorithm>
#include <utility>

#include "planner/flow_samples.h"

namespace hoplite::planner {
namespace {

// So long after its first bytes a receiver that passes another must be so much faster.
constexpr Duration kTrial = std::chrono::milliseconds(150);
constexpr double kFaster = 2;
// Before them its old stream ends, and a connection is made: round trips, and a busy host's time.
constexpr Duration kMayConnect = std::chrono::seconds(3);
// Who proved to be as fast is not suspected for so long: a busy moment may have spoken for it.
constexpr Duration kCleared = std::chrono::seconds(5);
// Passing costs a moment: what is left must take longer.
constexpr double kWorthwhileSeconds = 1;
// How far behind a suspect somebody faster is looked for.
constexpr int kDeepest = 8;

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
