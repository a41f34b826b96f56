#include "planner/copies/copy.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace hoplite::planner {
std::vector<std::uint32_t> StripesOf(StripeMask mask) {
  std::vector<std::uint32_t> stripes;
  stripes.reserve(Count(mask));
  for (; mask != 0; mask &= mask - 1) {
    stripes.push_back(static_cast<std::uint32_t>(std::countr_zero(mask)));
  }
  return stripes;
}

std::uint32_t Count(StripeMask mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

std::uint32_t Flow::units() const {
  std::uint32_t units = 0;
  places.ForEach([&](const Place& at) { units += at.used - at.absent; });
  return units;
}

void Flow::Insert(const Feed& feed) {
  feeds.push_back(feed);
  std::ranges::sort(feeds, {}, [](const Feed& one) {
    return std::pair(std::countr_zero(one.stripes), one.grant);
  });
}

void Flow::Lose(const Feed& how) {
  ForgetLost(how.stripes);
  Insert(how);
}

void Flow::ForgetLost(StripeMask stripes) {
  if (std::ranges::none_of(feeds, &Feed::lost)) return;
  std::vector<Feed> left;
  left.swap(feeds);
  for (Feed& feed : left) {
    if (feed.lost()) feed.stripes &= ~stripes;
    if (feed.stripes != 0) Insert(feed);
  }
}

std::uint64_t Copy::progress() const {
  return std::accumulate(marks.begin(), marks.end(), std::uint64_t{0});
}

std::uint64_t Copy::progress(StripeMask among) const {
  if (static_cast<std::size_t>(std::countr_one(among)) >= marks.size()) return progress();
  std::uint64_t blocks = 0;
  for (among &= all(); among != 0; among &= among - 1) blocks += marks[std::countr_zero(among)];
  return blocks;
}

const Feed& Copy::feed(std::size_t stripe) const {
  static const Feed none;
  for (const Feed& feed : flow().feeds) {
    if (!feed.lost() && (feed.stripes & BitOf(stripe)) != 0) return feed;
  }
  return none;
}

const Feed* Copy::lost(StripeMask among) const {
  for (const Feed& feed : flow().feeds) {
    if (feed.lost() && (feed.stripes & among) != 0) return &feed;
  }
  return nullptr;
}

bool Copy::superseded() const { return superseded(~StripeMask{0}) != GrantId{}; }

GrantId Copy::superseded(StripeMask among) const {
  for (const Feed& feed : flow().feeds) {
    if (feed.superseded && (feed.stripes & among) != 0) return feed.superseded;
  }
  return {};
}

void Copy::StreamEnded(const GrantId& grant) {
  if (!flows) return;
  for (Feed& feed : flows->feeds) {
    const bool adopted = feed.superseded.incarnation != grant.incarnation;
    if (adopted || feed.superseded == grant) feed.superseded = {};
  }
}

void Copy::ForgetLost() {
  if (flows) flows->ForgetLost(~StripeMask{0});
}

void Copy::ForgetOrphaned() {
  if (flows) flows->places.ForEach([](Place& place) { place.orphan = false; });
}

void Copy::Rest() {
  if (!flows || !final()) return;
  if (flows->fed == 0 && flows->serving.empty() && !superseded()) flows.reset();
}

}  // namespace hoplite::planner
