// Copies that are folds of others on their node: each has got as far as its slowest input.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "sim/planner_world/network.h"

namespace hoplite::sim {

void Network::Fold(Time now, NodeIndex copy, std::uint32_t inputs, bool held, Tag tag) {
  Folding& folding = foldings_[copy];
  folding.active = true;
  folding.held = held;
  folding.expected = inputs;
  folding.inputs.clear();
  for (std::uint32_t s = 0; s < stripes_; ++s) {
    SetMark(now, copy, s, 0, tag);
    At(copy, s).folded = inputs == 0;
    if (inputs != 0) continue;
    At(copy, s).bytes = stripe_bytes_[s];
    if (!held) SetWhole(now, copy, s);
  }
}

void Network::AddInput(Time now, NodeIndex copy, NodeIndex input) {
  HOPLITE_CHECK(node_of_[copy] == node_of_[input], "a fold has its inputs on its own node");
  foldings_[input].into = copy;
  foldings_[copy].inputs.push_back(input);
  for (std::uint32_t s = 0; s < stripes_; ++s) Refold(now, copy, s);
}

void Network::Release(Time now, NodeIndex copy) {
  for (std::uint32_t s = 0; s < stripes_; ++s) SetWhole(now, copy, s);
}

void Network::Unfold(Time now, NodeIndex copy) {
  for (const NodeIndex input : foldings_[copy].inputs) foldings_[input].into = kNoCopy;
  foldings_[copy] = Folding();
  for (std::uint32_t s = 0; s < stripes_; ++s) {
    SetMark(now, copy, s, 0, 0);
    At(copy, s).folded = false;
    At(copy, s).refold = kNever;
  }
}

void Network::InputChanged(Time now, NodeIndex copy, std::uint32_t stripe) {
  if (foldings_[copy].into != kNoCopy) Refold(now, foldings_[copy].into, stripe);
}

// The fold has what its slowest input has, and grows as fast, until another one is the slowest. An
// input that lost the block that was under way does not take away what was folded before.
void Network::Refold(Time now, NodeIndex copy, std::uint32_t stripe) {
  const Folding& folding = foldings_[copy];
  Inbound& inbound = At(copy, stripe);
  inbound.refold = kNever;
  if (!folding.active || inbound.folded || folding.inputs.size() < folding.expected) return;
  const auto valid = [&](NodeIndex input) {
    const Inbound& from = At(input, stripe);
    return from.whole ? stripe_bytes_[stripe] : Valid(now, from, stripe);
  };
  const auto whole = [&](NodeIndex input) { return At(input, stripe).whole; };
  if (std::ranges::all_of(folding.inputs, whole)) {
    inbound.folded = true;
    inbound.bytes = stripe_bytes_[stripe];
    inbound.rate = 0;
    inbound.at = now;
    if (!folding.held) SetWhole(now, copy, stripe);
    folded_.push_back({copy, stripe, kNoFlow});
    return;
  }
  double least = std::numeric_limits<double>::max();
  for (const NodeIndex input : folding.inputs) least = std::min(least, valid(input));
  const double had = Valid(now, inbound, stripe);
  const double bytes = std::max(had, least);
  double rate = std::numeric_limits<double>::max();
  for (const NodeIndex input : folding.inputs) {
    if (!whole(input) && valid(input) <= bytes + slack_)
      rate = std::min(rate, At(input, stripe).rate);
  }
  const bool behind = least < had - slack_;
  double next = std::numeric_limits<double>::max();
  for (const NodeIndex input : folding.inputs) {
    if (whole(input)) continue;
    const double ahead = valid(input) - bytes;
    const double closing = behind ? At(input, stripe).rate : rate - At(input, stripe).rate;
    const double gap = behind ? -ahead : ahead;
    if (gap > slack_ && closing > 1e-9 * capacity_) next = std::min(next, gap / closing);
  }
  SetInboundRate(now, inbound, stripe, behind ? 0 : rate);
  inbound.bytes = bytes;
  Touch(UpOf(copy));
  // Beyond the stripe's end nothing changes any more. Rates that differ by rounding alone never
  // meet.
  if (!behind && next * rate > stripe_bytes_[stripe] - bytes) return;
  if (next == std::numeric_limits<double>::max()) return;
  inbound.refold =
      now + Duration(std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(next)), 1));
  queue_.Push(inbound.refold, {Kind::kRefold, copy, 0, stripe});
}

}  // namespace hoplite::sim
