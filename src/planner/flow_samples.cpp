#include "planner/flow_samples.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace hoplite::planner {
namespace {

constexpr Duration kSampled = std::chrono::milliseconds(100);
// A source has bytes if it is ahead by more than what is under way and not yet reported.
constexpr std::uint64_t kReadyBlocks = 4;
constexpr double kReadySeconds = 0.05;

// A stream that grows by more than this from one tenth of a second to the next is not limited yet: it
// begins slowly where links are busy.
constexpr double kGrows = 1.25;

constexpr std::uint64_t kEverything = std::numeric_limits<std::uint64_t>::max();

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

std::pair<std::size_t, GrantId> StreamsOf(NodeId source, const CopyTable& table) {
  const Copy* copy = table.Find(source);
  if (copy == nullptr || copy->flow().serving.empty()) return {};
  const auto& streams = copy->flow().serving;
  return {streams.size(), *(streams.end() - 1)};
}

double Bytes(std::uint64_t blocks, const CopyTable& table) {
  return static_cast<double>(blocks) * table.layout().block_bytes;
}

}  // namespace

const Feed* FeedOf(const Copy* copy, const CopyTable& table) {
  if (copy == nullptr || copy->final() || copy->fed() == 0) return nullptr;
  const Feed& first = copy->feed(static_cast<std::size_t>(std::countr_zero(copy->fed())));
  const bool one_source = table.group_count() == 1 || first.stripes == copy->fed();
  return one_source || table.forest() ? &first : nullptr;
}

StripeMask Compared(const Feed& feed, const CopyTable& table) {
  return table.group_count() == 1 ? table.layout().all_stripes() : feed.stripes;
}

bool FlowSamples::Note(NodeId receiver, const CopyTable& table, Time now) {
  const Copy* copy = table.Find(receiver);
  const Feed* feed = FeedOf(copy, table);
  if (feed == nullptr) {
    samples_.erase(receiver);
    return false;
  }
  Sample& sample = samples_[receiver];
  const std::uint64_t has = copy->progress();
  const std::uint64_t ready =
      table.forest() ? ReadyBlocks(*copy, table) : ReadyBlocks(*copy, *feed, table);
  const auto beside = StreamsOf(feed->source, table);
  sample.ready = std::min(sample.ready, ready);
  sample.steady = sample.steady && sample.beside == beside;
  if (sample.grant != feed->grant || feed->moving() || !sample.flowing) {
    const bool flowing = sample.grant == feed->grant && has > sample.had && !feed->moving();
    sample = {feed->grant, now, has, ready, flowing, beside, true, 0, {}};
    return false;
  }
  const Duration elapsed = now - sample.since;
  if (elapsed < kSampled) return false;
  Rate rate;
  if (has >= sample.had) {
    rate.last = Bytes(has - sample.had, table) / ToSeconds(elapsed);
    rate.bytes_per_second = std::max(rate.last, sample.last);
    const double under_way = std::max(Bytes(kReadyBlocks, table), kReadySeconds * rate.last);
    rate.ready = sample.ready == kEverything || Bytes(sample.ready, table) >= under_way;
    rate.steady = sample.steady && rate.last <= kGrows * sample.last;
  }
  sample = {feed->grant, now, has, ready, true, beside, true, sample.steady ? rate.last : 0, rate};
  return has >= sample.had;
}

bool FlowSamples::IsDue(Duration interval, Time now) {
  if (now - was_due_ < interval) return false;
  was_due_ = now;
  return true;
}

FlowSamples::Rate FlowSamples::RateOf(NodeId receiver, const CopyTable& table) const {
  const auto sample = samples_.find(receiver);
  const Feed* feed = FeedOf(table.Find(receiver), table);
  const bool current =
      sample != samples_.end() && feed != nullptr && feed->grant == sample->second.grant;
  return current ? sample->second.rate : Rate{};
}

}  // namespace hoplite::planner
