#include "planner/serving/slow_relays.h"

#include <algorithm>
#include <array>
#include <utility>

#include "planner/copies/flow_samples.h"

namespace hoplite::planner {
namespace {

// So long a trial takes, from its first bytes; and then so much more has to come to the one that
// passes another than to that one before.
constexpr Duration kTrial = std::chrono::milliseconds(150);
constexpr double kBetter = 1.3;
constexpr Duration kSameTime = std::chrono::milliseconds(500);
// Closing the old stream and connecting take some round trips; a busy host needs longer.
constexpr Duration kMayConnect = std::chrono::seconds(3);
// Then one of the two is ahead of the other, or they stand in a line again.
constexpr Duration kLongest = std::chrono::seconds(5);
// Who proved to be as fast is not suspected for so long: a busy moment may have spoken for it.
constexpr Duration kCleared = std::chrono::seconds(5);
// Passing costs a moment: what is left must take longer; much longer, if nothing speaks for it.
constexpr double kWorthwhileSeconds = 1;
constexpr Duration kWorthATrial = std::chrono::seconds(2);
constexpr int kMessagesLeft = 30;
// How far behind a suspect somebody is looked for who is so much faster.
constexpr int kDeepest = 8;
constexpr double kFaster = 2;

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
  const Duration least = kWorthATrial + kMessagesLeft * nodes.link().latency;
  return left_seconds >= ToSeconds(least) && nodes.MayBeTried(feed->source, now);
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
  const double left_seconds = BytesIn(left, table) / bytes_per_second;
  if (left_seconds < kWorthwhileSeconds) return;
  faster_ =
      tries && table.group_count() == 1 && IsWorthATrial(receiver, left_seconds, table, nodes, now)
          ? FirstBehind(receiver, table)
          : FasterBehind(receiver, bytes_per_second, table, nodes);
  if (faster_ != kNoNode) suspect_ = receiver;
}

void SlowRelays::JudgeTwo(NodeId receiver, const CopyTable& table, const FlowSamples& samples,
                          Time now) {
  const double rate = samples.RateOf(receiver, table).most;
  if (passing_ || table.forest() || table.group_count() > 1 || rate == 0) return;
  const Feed* feed = FeedOf(table.Find(receiver), table);
  const Copy* source = feed == nullptr ? nullptr : table.Find(feed->source);
  if (source == nullptr || !source->complete || source->flow().serving.size() != 2) return;
  const std::uint64_t left = table.layout().block_count() - table.Find(receiver)->progress();
  if (BytesIn(left, table) < kWorthwhileSeconds * rate) return;
  std::array<NodeId, 2> two{};
  std::ranges::transform(source->flow().serving, two.begin(), [&](GrantId grant) {
    const OpenGrant& open = table.grants().at(grant);
    return open.leaf ? kNoNode : open.receiver;
  });
  if (std::ranges::find(two, kNoNode) != two.end()) return;
  const double one = samples.RateOf(two[0], table).most;
  const double other = samples.RateOf(two[1], table).most;
  if (std::max(one, other) > kBetter * std::min(one, other)) return;  // they are not alike
  if (table.Find(two[0])->progress() < table.Find(two[1])->progress()) std::swap(two[0], two[1]);
  suspect_ = kNoNode;
  passing_ = {.slow = two[0],
              .faster = two[1],
              .source = feed->source,
              .former = two[0],
              .replaced = {},
              .since = now - kLongest,
              .before = 0,
              .from = {},
              .slow_from = {}};
}

void SlowRelays::Closed(GrantId grant) {
  if (passing_ && passing_->replaced == grant) passing_->replaced = {};
}

void SlowRelays::Act(const CopyTable& table, const FlowSamples& samples, NodeTable& nodes,
                     SourceSelector& selector, Time now) {
  if (!table.forest() && !selector.InALine()) return Stop();
  if (passing_) return Continue(table, samples, nodes, selector, now);
  if (suspect_ != kNoNode) Begin(table, samples, nodes, selector, now);
}

void SlowRelays::Begin(const CopyTable& table, const FlowSamples& samples, NodeTable& nodes,
                       SourceSelector& selector, Time now) {
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
              .from = {},
              .slow_from = {}};
  nodes.NoteTried(source, now);
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
    if (!selector.MoveBehindOthers(p.slow)) return;
    nodes.ForgetTried(p.source);
    return passing_.reset();
  }
  if (verdict == Verdict::kOpen || (verdict == Verdict::kYes && now - p.since < kLongest)) return;
  if (!selector.MoveIntoLine(ahead ? p.slow : p.faster, ahead ? p.faster : p.slow)) return;
  cleared_[p.slow] = now;
  passing_.reset();
}

// What came to the slow one before may have been little by a pause, or since its stream was young:
// later both are compared in the same time.
SlowRelays::Verdict SlowRelays::Pays(const CopyTable& table, const FlowSamples& samples, Time now) {
  Passing& p = *passing_;
  const auto at = samples.MarkOf(p.faster, table);
  const auto slow_at = samples.MarkOf(p.slow, table);
  const auto went_back = [](const auto& from, const auto& to) {
    return from && to && (to->had < from->had || to->told < from->told);
  };
  if (went_back(p.from, at) || went_back(p.slow_from, slow_at)) p.from.reset();
  if (!p.from && at && slow_at && !p.replaced) {
    p.from = at;
    p.slow_from = slow_at;
  }
  const Duration lasted = p.from && at ? at->told - p.from->told : Duration{0};
  if (lasted < kTrial) return now - p.since < kMayConnect ? Verdict::kOpen : Verdict::kNo;
  const auto rate = [&](const FlowSamples::Mark& from, const FlowSamples::Mark& to) {
    return BytesIn(to.had - from.had, table) / ToSeconds(std::max(to.told - from.told, kTrial));
  };
  double beside = p.before;
  if (lasted >= kSameTime && slow_at) beside = std::max(beside, rate(*p.slow_from, *slow_at));
  return rate(*p.from, *at) >= kBetter * beside ? Verdict::kYes : Verdict::kNo;
}

}  // namespace hoplite::planner
