// Copies that are folds of others on their node: each has got as far as its slowest input.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/planner_world/network.h"

namespace hoplite::sim {

void Network::Fold(Time now, NodeIndex copy, std::uint32_t inputs, const Made& made) {
  Folding& folding = foldings_[copy];
  folding.made = made;
  folding.expected = inputs;
  folding.inputs.clear();
  for (std::uint32_t s = 0; s < stripes_; ++s) {
    if ((made.stripes >> s & 1) == 0) continue;
    SetMark(now, copy, s, 0, made.tag);
    At(copy, s).whole = false;  // a stripe without blocks, too, ends when those of its inputs have
    At(copy, s).folded = inputs == 0;
    if (inputs != 0) continue;
    At(copy, s).bytes = stripe_bytes_[s];
    if (!made.held) SetWhole(now, copy, s);
  }
}

std::vector<NodeIndex> Network::Folding::In(std::uint32_t stripe) const {
  std::vector<NodeIndex> there;
  for (const Input& input : inputs) {
    if ((input.stripes >> stripe & 1) != 0) there.push_back(input.copy);
  }
  return there;
}

void Network::AddInput(Time now, NodeIndex copy, NodeIndex input, StripeMask stripes) {
  HOPLITE_CHECK(node_of_[copy] == node_of_[input], "a fold has its inputs on its own node");
  foldings_[input].into = copy;
  foldings_[copy].inputs.push_back({input, stripes});
  for (std::uint32_t s = 0; s < stripes_; ++s) Refold(now, copy, s);
  // Stripes in which it has no input are whole with the last one, and nothing else may happen now.
  if (!folded_.empty()) queue_.Push(now, {Kind::kFolded, copy});
}

void Network::Release(Time now, NodeIndex copy) {
  const StripeMask made = EndFold(copy);
  for (std::uint32_t s = 0; s < stripes_; ++s) {
    if ((made >> s & 1) != 0) SetWhole(now, copy, s);
  }
}

void Network::Unfold(Time now, NodeIndex copy) {
  const StripeMask made = EndFold(copy);
  for (std::uint32_t s = 0; s < stripes_; ++s) {
    if ((made >> s & 1) != 0) SetMark(now, copy, s, 0, 0);
  }
}

// Answers with the stripes that it made.
StripeMask Network::EndFold(NodeIndex copy) {
  const Folding folded = std::exchange(foldings_[copy], Folding{.into = foldings_[copy].into});
  for (const Input& input : folded.inputs) foldings_[input.copy].into = kNoCopy;
  for (std::uint32_t s = 0; s < stripes_; ++s) {
    At(copy, s).folded = false;
    At(copy, s).refold = kNever;
  }
  return folded.made.stripes;
}

void Network::InputChanged(Time now, NodeIndex copy, std::uint32_t stripe) {
  if (foldings_[copy].into != kNoCopy) Refold(now, foldings_[copy].into, stripe);
}

void Network::SetFolded(Time now, NodeIndex copy, std::uint32_t stripe) {
  Inbound& inbound = At(copy, stripe);
  inbound.folded = true;
  inbound.bytes = stripe_bytes_[stripe];
  inbound.rate = 0;
  inbound.at = now;
  if (!foldings_[copy].made.held) SetWhole(now, copy, stripe);
  folded_.push_back({copy, stripe, kNoFlow});
}

// The fold has what its slowest input has, and grows as fast, until another one is the slowest. An
// input that lost the block that was under way does not take away what was folded before.
void Network::Refold(Time now, NodeIndex copy, std::uint32_t stripe) {
  const Folding& folding = foldings_[copy];
  Inbound& inbound = At(copy, stripe);
  inbound.refold = kNever;
  const bool folds = (folding.made.stripes >> stripe & 1) != 0;
  if (!folds || inbound.folded || folding.inputs.size() < folding.expected) return;
  const std::vector<NodeIndex> inputs = folding.In(stripe);
  const auto valid = [&](NodeIndex input) {
    const Inbound& from = At(input, stripe);
    return from.whole ? stripe_bytes_[stripe] : Valid(now, from, stripe);
  };
  const auto whole = [&](NodeIndex input) { return At(input, stripe).whole; };
  if (std::ranges::all_of(inputs, whole)) return SetFolded(now, copy, stripe);
  if (in_turns()) return RefoldBlocks(now, copy, stripe);
  double least = std::numeric_limits<double>::max();
  for (const NodeIndex input : inputs) least = std::min(least, valid(input));
  const double had = Valid(now, inbound, stripe);
  const double bytes = std::max(had, least);
  double rate = std::numeric_limits<double>::max();
  for (const NodeIndex input : inputs) {
    if (!whole(input) && valid(input) <= bytes + slack_)
      rate = std::min(rate, At(input, stripe).rate);
  }
  const bool behind = least < had - slack_;
  double next = std::numeric_limits<double>::max();
  for (const NodeIndex input : inputs) {
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
