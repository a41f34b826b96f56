#include "planner/copies/flow_samples.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace hoplite::planner {
namespace {

// So much must have come before it says how fast: what a bucket or a socket kept is little beside it.
// Of a slow link less does, after so long.
constexpr Duration kShortest = std::chrono::milliseconds(100);
constexpr double kEnoughBytes = 1 << 20;
constexpr Duration kLongEnough = std::chrono::milliseconds(300);
// A source has bytes if it is ahead by more than what is under way and not yet reported.
constexpr std::uint64_t kReadyBlocks = 4;
constexpr double kReadySeconds = 0.05;
// A whole object that took less may have come with what was kept: so much is added to its time.
constexpr Duration kKept = std::chrono::milliseconds(100);

constexpr std::uint64_t kEverything = std::numeric_limits<std::uint64_t>::max();

std::uint64_t ReadyBlocks(const Copy& receiver, const Feed& feed, const CopyTable& table) {
  const Copy* source = table.Find(feed.source);
  if (source == nullptr) return 0;
  // A disk may have none ready (R124).
  if (source->complete) return source->on_disk ? 0 : kEverything;
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

}  // namespace

double BytesIn(std::uint64_t blocks, const CopyTable& table) {
  return static_cast<double>(blocks) * table.layout().block_bytes;
}

const Feed* FeedOf(const Copy* copy, const CopyTable& table) {
  if (copy == nullptr || copy->final() || copy->fed() == 0) return nullptr;
  const Feed& first = copy->feed(static_cast<std::size_t>(std::countr_zero(copy->fed())));
  const bool one_source = table.group_count() == 1 || first.stripes == copy->fed();
  return one_source || table.forest() ? &first : nullptr;
}

std::pair<std::size_t, GrantId> StreamsOf(NodeId source, const CopyTable& table) {
  const Copy* copy = table.Find(source);
  if (copy == nullptr || copy->flow().serving.empty()) return {};
  const auto& streams = copy->flow().serving;
  return {streams.size(), *(streams.end() - 1)};
}

NodeId FirstBehind(NodeId source, const CopyTable& table) {
  for (const GrantId grant : table.Find(source)->flow().serving) {
    const OpenGrant& open = table.grants().at(grant);
    if (!open.leaf) return open.receiver;
  }
  return kNoNode;
}

StripeMask Compared(const Feed& feed, const CopyTable& table) {
  return table.group_count() == 1 ? table.layout().all_stripes() : feed.stripes;
}

bool FlowSamples::Note(NodeId receiver, const CopyTable& table, Time told, Time now) {
  const Copy* copy = table.Find(receiver);
  const Feed* feed = FeedOf(copy, table);
  if (feed == nullptr || told == Time{}) {
    samples_.erase(receiver);
    return false;
  }
  Sample& sample = samples_[receiver];
  const std::uint64_t has = copy->progress();
  const std::uint64_t ready =
      table.forest() ? ReadyBlocks(*copy, table) : ReadyBlocks(*copy, *feed, table);
  const Window next{told, has, ready, StreamsOf(feed->source, table), now};
  const bool begins = sample.grant != feed->grant || feed->moving() || told < sample.window.since ||
                      has < sample.window.had;
  if (begins || !sample.flowing) {
    const bool flowing = !begins && has > sample.window.had;
    sample = {feed->grant, flowing, {told, has}, next, next, {}, {}};
    return false;
  }
  sample.last = {told, has};
  Window& window = sample.window;
  window.ready = std::min(window.ready, ready);
  window.steady = window.steady && window.beside == next.beside;
  const Duration elapsed = told - window.since;
  const double bytes = BytesIn(has - window.had, table);
  const bool whole = table.layout().complete(copy->marks);
  if (elapsed >= kShortest && (bytes >= kEnoughBytes || elapsed >= kLongEnough)) {
    const double rate = bytes / ToSeconds(elapsed);
    const double under_way = std::max(BytesIn(kReadyBlocks, table), kReadySeconds * rate);
    Close(sample, rate, window.ready == kEverything || BytesIn(window.ready, table) >= under_way,
          now);
    window = next;
  } else if (!whole) {
    return false;
  }
  if (whole) {
    const double all = BytesIn(has - sample.whole.had, table);
    const double surely = all / ToSeconds(told - sample.whole.since + kKept);
    sample.rate.least = std::max(sample.rate.least, surely);
  }
  return true;
}

// Windows of a source that served others meanwhile are of different streams.
void FlowSamples::Close(Sample& sample, double bytes_per_second, bool had_bytes, Time now) {
  const Window& window = sample.window;
  const Rate alone{bytes_per_second, bytes_per_second, had_bytes, window.beside, window.heard, now};
  Rate& before = sample.before;
  sample.rate = {};
  if (before.most > 0) {
    const bool alike = window.steady && before.beside == window.beside;
    sample.rate = {std::min(before.most, alone.most),
                   std::max(before.most, alone.most),
                   alike && had_bytes && before.held,
                   alike ? window.beside : std::pair<std::size_t, GrantId>{},
                   window.heard,
                   now};
  }
  before = alone;
  if (!window.steady) before.beside = {};
}

bool FlowSamples::IsDue(Duration interval, Time now) {
  if (now - was_due_ < interval) return false;
  was_due_ = now;
  return true;
}

std::optional<FlowSamples::Mark> FlowSamples::MarkOf(NodeId receiver,
                                                     const CopyTable& table) const {
  const auto sample = samples_.find(receiver);
  const Feed* feed = FeedOf(table.Find(receiver), table);
  const bool current = sample != samples_.end() && feed != nullptr &&
                       feed->grant == sample->second.grant && sample->second.flowing;
  return current ? std::optional(sample->second.last) : std::nullopt;
}

FlowSamples::Rate FlowSamples::RateOf(NodeId receiver, const CopyTable& table) const {
  const auto sample = samples_.find(receiver);
  const Feed* feed = FeedOf(table.Find(receiver), table);
  const bool current =
      sample != samples_.end() && feed != nullptr && feed->grant == sample->second.grant;
  return current ? sample->second.rate : Rate{};
}

}  // namespace hoplite::planner
