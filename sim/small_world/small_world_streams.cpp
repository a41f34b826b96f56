// SmallWorld: what may happen next, and streams.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/block_order.h"
#include "sim/small_world/small_world.h"

namespace hoplite::sim {

std::string ToString(const Step& step) {
  static constexpr std::array<std::string_view, 26> kNames{"a message of n{0} arrives",
                                                           "n{0} hears the directory",
                                                           "the source answers stream {1} of n{0}",
                                                           "a block passes to n{0}",
                                                           "a stream of n{0} ends",
                                                           "n{0} sees its stream break",
                                                           "n{0} produces a block of stripe {1}",
                                                           "n{0} gets memory",
                                                           "n{0} puts other bytes",
                                                           "n{0} deletes",
                                                           "n{0} needs its room elsewhere",
                                                           "n{0} asks again",
                                                           "n{0} reconnects",
                                                           "time passes",
                                                           "n{0} dies",
                                                           "the directory restarts",
                                                           "n{0} folds a block of input {1}",
                                                           "n{0} has all of input {1}",
                                                           "n{0} reports input {1} as lost",
                                                           "n{0} gives up what it waits for",
                                                           "two can't connect any more",
                                                           "the two can connect again",
                                                           "n{0} says that nothing comes",
                                                           "a Give arrives at n{0}",
                                                           "a Give to n{0} is lost",
                                                           "n{0} fetches another object, too"};
  return fmt::format(fmt::runtime(kNames[static_cast<std::size_t>(step.kind)]), step.node,
                     step.index);
}

std::vector<Step> SmallWorld::Steps() const {
  std::vector<Step> steps;
  if (!violation_.empty()) return steps;
  AddOrdinary(steps);
  AddFaults(steps);
  return steps;
}

bool SmallWorld::AtRest() const {
  std::vector<Step> steps;
  AddOrdinary(steps);
  return steps.empty();
}

void SmallWorld::AddOrdinary(std::vector<Step>& steps) const {
  AddNodeSteps(steps);
  AddStreamSteps(steps);
  if (reduction_) AddFoldSteps(steps);
  const bool quiet = steps.empty();
  if (const auto starving = quiet ? Starving() : std::nullopt) {
    return steps.push_back({Step::Kind::kStarve, *starving});
  }
  if (quiet && WaitsInVain()) return steps.push_back({Step::Kind::kGiveUp});
  if (NextTime() != kNever && (quiet || directory_.state().collecting())) {
    steps.push_back({Step::Kind::kTime});
  }
  AddGiveSteps(steps);
  if (reduction_ && quiet) AddLastSteps(steps);
}

void SmallWorld::AddNodeSteps(std::vector<Step>& steps) const {
  for (std::uint32_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    if (!member.to_directory.empty()) steps.push_back({Step::Kind::kToDirectory, i});
    if (!member.alive) continue;
    if (!member.to_node.empty()) steps.push_back({Step::Kind::kToNode, i});
    if (!member.node.connected()) steps.push_back({Step::Kind::kReconnect, i});
    if (!member.has_memory) steps.push_back({Step::Kind::kMemory, i});
    if (member.node.copy() && member.node.copy()->produces != 0 && !member.node.copy()->folded) {
      AddFillSteps(i, steps);
    }
  }
}

void SmallWorld::AddStreamSteps(std::vector<Step>& steps) const {
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_[i];
    const auto add = [&](Step::Kind kind) { steps.push_back({kind, stream.receiver, i}); };
    if (stream.fate != Stream::Fate::kFlows) {
      add(Step::Kind::kBreak);
    } else if (stream.open == 0) {
      add(Step::Kind::kAnswer);
    } else if (stream.stuck ? HasRoom(stream, *stream.stuck) : NextStripeOf(stream).has_value()) {
      add(Step::Kind::kBlock);
    } else if (!stream.stuck && MayEnd(stream)) {
      add(Step::Kind::kEnd);
    }
  }
}

void SmallWorld::AddFaults(std::vector<Step>& steps) const {
  const std::uint32_t last = options_.nodes - 1;
  if (delete_left_ && members_[last].alive) steps.push_back({Step::Kind::kDelete, last});
  const bool asks = members_[1].alive && members_[1].node.waiting();
  if (join_left_ && asks) steps.push_back({Step::Kind::kJoin, 1});
  if (lose_room_left_ && asks) steps.push_back({Step::Kind::kLoseRoom, 1});
  AddAskAgain(steps);
  if (MayPutAgain()) {
    steps.push_back({Step::Kind::kPutAgain, PutsOnOneMore() ? last + 1 : last});
  }
  for (std::uint32_t i = 0; deaths_left_ > 0 && i <= last; ++i) {
    if (members_[i].alive) steps.push_back({Step::Kind::kDie, i});
  }
  for (std::uint32_t i = 0; lost_gives_left_ > 0 && i < gives_.size(); ++i) {
    steps.push_back({Step::Kind::kLoseGive, IndexOf(gives_[i].to.id), i});
  }
  if (restarts_left_ > 0) steps.push_back({Step::Kind::kRestart});
  if (cut_left_) steps.push_back({Step::Kind::kCut});
  if (heal_left_ && !cut_left_) steps.push_back({Step::Kind::kHeal});
}

bool SmallWorld::MayPutAgain() const {
  if (!put_again_left_) return false;
  if (!reduction_) return !members_[0].alive;
  return members_[reduction_->node].alive && !reduction_->ended && LostSource();
}

std::optional<std::uint32_t> SmallWorld::NextStripeOf(const Stream& stream) const {
  const auto& source = SourceCopy(stream);
  const auto& copy = members_[stream.receiver].node.copy();
  const bool ordered = stream.fetch.ordered && options_.fault != PlantedFault::kAsksInAnyOrder;
  return NextStripe(layout_, stream.open, copy->marks, source->marks, ordered);
}

// Whoever reads through the window has taken all that is contiguous.
bool SmallWorld::HasRoom(const Stream& stream, std::uint32_t stripe) const {
  const VirtualNode& node = members_[stream.receiver].node;
  if (!node.leaf()) return true;
  const StripeMarks& marks = node.copy()->marks;
  const std::uint64_t taken = layout_.contiguous_prefix(marks) / layout_.block_bytes;
  return layout_.block_at(stripe, marks[stripe]) < taken + options_.window;
}

bool SmallWorld::MayEnd(const Stream& stream) const { return SourceCopy(stream)->complete; }

// Its receiver has not yet to hear that it broke, that its source has dropped the copy, or of a grant
// that ends it (R8).
bool SmallWorld::Lasts(const Stream& stream) const {
  const auto ends = [&stream](const protocol::NodeAction& word) {
    const auto* grant = std::get_if<protocol::Grant>(&word);
    return grant != nullptr && (grant->stripes & stream.fetch.stripes) != 0;
  };
  return stream.fate == Stream::Fate::kFlows &&
         std::ranges::none_of(members_[stream.receiver].to_node, ends);
}

bool SmallWorld::PullsFrom(std::uint32_t source, std::uint32_t receiver,
                           std::uint32_t stripe) const {
  std::uint32_t at = source;
  for (std::size_t steps = 0; at != receiver; ++steps) {
    if (steps == members_.size()) return true;  // in a circle of others
    const auto feed = std::ranges::find_if(streams_, [&](const Stream& stream) {
      return stream.receiver == at && (stream.open >> stripe & 1) != 0 && Lasts(stream);
    });
    if (feed == streams_.end()) return false;
    at = IndexOf(feed->fetch.source);
  }
  return true;
}

void SmallWorld::Answer(std::size_t index) {
  Stream& stream = streams_[index];
  const std::uint32_t source = IndexOf(stream.fetch.source);
  if (source >= members_.size() || !members_[source].alive || cuts_.Has(stream.receiver, source)) {
    return FailStream(stream, protocol::Failure::kUnreachable);
  }
  const protocol::Failure answer = members_[source].node.Answer(stream.fetch);
  if (answer != protocol::Failure::kNone) return FailStream(stream, answer);
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    const bool asked = (stream.fetch.stripes >> s & 1) != 0;
    if (!asked || !Lasts(stream) || !PullsFrom(source, stream.receiver, s)) continue;
    Fail(fmt::format("P2: n{} pulls from n{}, which pulls from it", stream.receiver, source));
  }
  stream.open = stream.fetch.stripes;
}

void SmallWorld::Block(std::size_t index) {
  Stream& stream = streams_[index];
  const std::uint32_t stripe = stream.stuck ? *stream.stuck : *NextStripeOf(stream);
  stream.stuck = HasRoom(stream, stripe) ? std::nullopt : std::optional(stripe);
  if (stream.stuck) return;
  VirtualNode& node = members_[stream.receiver].node;
  const Content content = SourceCopy(stream)->content[stripe];
  const std::uint32_t mark = node.copy()->marks[stripe] + options_.stride;
  Fail(std::string(node.Received(stripe, mark, content)));
  const std::uint32_t receiver = stream.receiver;
  Effects effects;
  node.BytesWhole(effects);
  Effect(receiver, effects);
  if (reduction_) SayFull(receiver);
}

// The source has sealed its copy and sent all: every stripe of the stream is final.
void SmallWorld::End(std::size_t index) {
  const Stream stream = streams_[index];
  streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(index));
  Effects effects;
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    if ((stream.open >> s & 1) == 0) continue;
    members_[stream.receiver].node.StripeWhole(stream.fetch.grant, s, effects);
  }
  Effect(stream.receiver, effects);
}

void SmallWorld::Break(std::size_t index) {
  const Stream stream = streams_[index];
  const bool gone = stream.fate == Stream::Fate::kGone;
  FailStream(stream, gone ? protocol::Failure::kNone : protocol::Failure::kBroken);
}

void SmallWorld::FailStream(const Stream& stream, protocol::Failure why) {
  const std::uint32_t receiver = stream.receiver;
  Effects effects;
  members_[receiver].node.StreamFailed(stream.fetch.grant, why, effects);
  Effect(receiver, effects);
}

}  // namespace hoplite::sim
