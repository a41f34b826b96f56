#include "planner/slow_relays.h"

#include <algorithm>
#include <array>
#include <utility>

#include "planner/flow_samples.h"

namespace hoplite::planner {
namespace {

// So long a trial takes, from its first bytes; and then so much more has to come to the one that
// passes another than to that one before.
constexpr Duration kTrial = std::chrono::milliseconds(150);
constexpr double kBetter = 1.3;
// Before them its old stream ends, and a connection is made: round trips, and a busy host's time.
constexpr Duration kMayConnect = std::chrono::seconds(3);
// Who proved to be as fast is not suspected for so long: a busy moment may have spoken for it.
constexpr Duration kCleared = std::chrono::seconds(5);
// Passing costs a moment: what is left must take longer; much longer, if nothing speaks for it.
constexpr double kWorthwhileSeconds = 1;
constexpr int kTrialsLeft = 10;
constexpr Duration kWholeTrial = std::chrono::milliseconds(200);
// How far behind a suspect somebody is looked for who is so much faster.
constexpr int kDeepest = 8;
constexpr double kFaster = 2;

double Bytes(std::uint64_t blocks, const CopyTable& table) {
  return static_cast<double>(blocks) * table.layout().block_bytes;
}

// It has more, and less of no stripe: in the object's order two copies differ in few stripes.
bool IsAhead(const Copy& one, const Copy& other, StripeMask stripes) {
  return one.progress(stripes) > other.progress(stripes) &&
         std::ranges::none_of(StripesOf(stripes), [&](std::uint32_t stripe) {
           return one.marks[stripe] < other.marks[stripe];
         });
}

// Who should be much faster than what comes to the relay before it; kNoNode: nobody.
NodeId FasterBehind(NodeId relay, double bytes_per_second, const CopyTable& table,
                    const NodeTable& nodes) {
  NodeId at = FirstBehind(relay, table);
  for (int depth = 0; depth < kDeepest && at != kNoNode; ++depth) {
    if (nodes.ExpectedToCarry(at, relay) > kFaster * bytes_per_second) return at;
    at = FirstBehind(at, table);
  }
  return kNoNode;
}

// Nobody knows what the relay's source can send, and to find out takes a twentieth of what is left.
bool IsWorthATrial(NodeId relay, double left_seconds, const CopyTable& table,
                   const NodeTable& nodes, Time now) {
  const Feed* feed = FeedOf(table.Find(relay), table);
  const Copy* source = feed == nullptr ? nullptr : table.Find(feed->source);
  if (source == nullptr || !source->complete || source->flow().serving.size() != 1) return false;
  const Duration takes = kWholeTrial + kMessagesUntilSeen * nodes.link().latency;
  return left_seconds >= kTrialsLeft * ToSeconds(takes) && nodes.MayBeTried(feed->source, now);
}

}  // namespace

void SlowRelays::Judge(NodeId receiver, double bytes_per_second, bool tries, const CopyTable& table,
                       const NodeTable& nodes, Time now) {
  const Copy& copy = *table.Find(receiver);
  if (passing_ || suspect_ != kNoNode || copy.flow().serving.empty()) return;
  if (const auto cleared = cleared_.find(receiver); cleared != cleared_.end()) {
    if (now - cleared->second < kCleared) return;
  }
  const std::uint64_t left = table.layout().block_count() - copy.progress();
  const double left_seconds = Bytes(left, table) / bytes_per_second;
  if (left_seconds < kWorthwhileSeconds) return;
  faster_ =
      tries && table.group_count() == 1 && IsWorthATrial(receiver, left_seconds, table, nodes, now)
          ? FirstBehind(receiver, table)
          : FasterBehind(receiver, bytes_per_second, table, nodes);
  if (faster_ != kNoNode) suspect_ = receiver;
}

void SlowRelays::Closed(GrantId grant) {
  if (passing_ && passing_->replaced == grant) passing_->replaced = {};
}

void SlowRelays::Act(const CopyTable& table, const FlowSamples& samples, NodeTable& nodes,
                     SourceSelector& selector, Time now) {
  if (passing_) return Continue(table, samples, nodes, selector, now);
  if (suspect_ != kNoNode) Begin(table, samples, selector, now);
}

void SlowRelays::Begin(const CopyTable& table, const FlowSamples& samples, SourceSelector& selector,
                       Time now) {
  const NodeId slow = std::exchange(suspect_, kNoNode);
  // Nobody needs its place: a forest has other holders.
  if (table.forest()) return selector.LeaveHome(slow);
  const Feed* feed = FeedOf(table.Find(slow), table);
  const Feed* behind = FeedOf(table.Find(faster_), table);
  if (feed == nullptr || behind == nullptr) return;
  const NodeId source = feed->source;
  const NodeId former = behind->source;
  const GrantId replaced = behind->grant;
  const double before = samples.RateOf(slow, table).most;
  if (!selector.MoveTo(faster_, source)) return;
  passing_ = {.slow = slow,
              .faster = faster_,
              .source = source,
              .former = former,
              .replaced = replaced,
              .since = now,
              .before = before,
              .from = {}};
}

bool SlowRelays::Goes(const CopyTable& table) const {
  return std::ranges::all_of(std::array{passing_->slow, passing_->faster}, [&](NodeId receiver) {
    const Feed* feed = FeedOf(table.Find(receiver), table);
    return feed != nullptr && feed->source == passing_->source;
  });
}

std::pair<NodeId, NodeId> SlowRelays::Kept(const CopyTable& table) const {
  if (!passing_ || !Goes(table)) return {kNoNode, kNoNode};
  return {passing_->faster, passing_->former};
}

void SlowRelays::Continue(const CopyTable& table, const FlowSamples& samples, NodeTable& nodes,
                          SourceSelector& selector, Time now) {
  const Passing& p = *passing_;
  const Copy* slow = table.Find(p.slow);
  const Copy* faster = table.Find(p.faster);
  if (!Goes(table)) return passing_.reset();
  const Verdict verdict = Pays(table, samples, now);
  const bool ahead = IsAhead(*faster, *slow, Compared(*FeedOf(slow, table), table));
  if (ahead && (!p.from || verdict == Verdict::kYes)) {
    if (selector.MoveBehindOthers(p.slow)) passing_.reset();
    return;
  }
  if (verdict != Verdict::kNo) return;
  nodes.NoteTried(p.source, now);
  if (!selector.MoveIntoLine(ahead ? p.slow : p.faster, ahead ? p.faster : p.slow)) return;
  cleared_[p.slow] = now;
  passing_.reset();
}

SlowRelays::Verdict SlowRelays::Pays(const CopyTable& table, const FlowSamples& samples, Time now) {
  Passing& p = *passing_;
  const std::optional<FlowSamples::Mark> at = samples.MarkOf(p.faster, table);
  if (!p.from && at && !p.replaced) {
    p.from = at;
    p.since = now;
  }
  const Duration lasted = p.from && at ? at->told - p.from->told : Duration{0};
  if (lasted < kTrial) return now - p.since < kMayConnect ? Verdict::kOpen : Verdict::kNo;
  const double rate = Bytes(at->had - p.from->had, table) / ToSeconds(lasted);
  return rate >= kBetter * p.before ? Verdict::kYes : Verdict::kNo;
}

}  // namespace hoplite::planner
