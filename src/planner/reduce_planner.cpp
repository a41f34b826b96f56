#include "planner/reduce_planner.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "planner/reduce_cost.h"

namespace hoplite::planner {
namespace {

// A position that failed tells nothing certain about its sources; they are left alone for so long.
constexpr Duration kSuspicion = std::chrono::seconds(1);
constexpr std::size_t kMostNamed = 8;

bool EndsTheReduction(ErrorCode code) {
  return code == ErrorCode::kResourceExhausted || code == ErrorCode::kInvalidArgument;
}

bool MeansGone(ErrorCode code) {
  return code == ErrorCode::kDeleted || code == ErrorCode::kNotFound ||
         code == ErrorCode::kRecalled;
}

std::unexpected<Error> Wrong(std::string message) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, std::move(message)));
}

}  // namespace

Result<void> CheckReduceOptions(const ReduceOptions& options) {
  const std::size_t count = options.sources.size();
  const std::uint64_t wanted = options.num_objects.value_or(count);
  if (auto supported = Supports(options.op, options.dtype); !supported) return supported;
  if (count == 0) return Wrong("a reduction needs at least one source");
  if (count > kMaxReduceSources) {
    return Wrong(fmt::format("{} sources; {} is the limit", count, kMaxReduceSources));
  }
  std::set<ObjectId> seen;
  for (const ObjectId& source : options.sources) {
    if (source == ObjectId()) return Wrong("a source's id is all zero, which names no object");
    if (source == options.target) {
      return Wrong(fmt::format("the target {} is among the sources", source.ToShortString()));
    }
    if (!seen.insert(source).second) {
      return Wrong(fmt::format("source {} is listed twice", source.ToShortString()));
    }
  }
  if (wanted == 0) return Wrong("num_objects is 0; at least one source has to be used");
  if (wanted > count) {
    return Wrong(fmt::format("num_objects is {}, but there are {} sources", wanted, count));
  }
  if (options.fixed_order && wanted < count) {
    return Wrong(
        fmt::format("a fixed order needs all {} sources, num_objects is {}", count, wanted));
  }
  if (options.fixed_order && options.degree > 1) {
    return Wrong(
        fmt::format("a fixed order folds along a line; degree {} is none", options.degree));
  }
  if (options.metadata.size() > kMaxMetadataBytes) {
    return Wrong(fmt::format("metadata has {} bytes, {} is the limit", options.metadata.size(),
                             kMaxMetadataBytes));
  }
  return {};
}

ReducePlanner::ReducePlanner(const ReduceOptions& options, NodeId self, std::uint64_t request,
                             Twin twin)
    : options_(options),
      self_(self),
      request_(request),
      wanted_(options.num_objects.value_or(options.sources.size())),
      twin_(twin),
      sources_(options.sources) {}

// --- told

void ReducePlanner::OnOpened(const LinkModel& link) { link_ = link; }

void ReducePlanner::OnHolder(const ObjectId& source, NodeId node, Version version,
                             const Layout& layout, const std::string& metadata, Time now) {
  now_ = std::max(now_, now);
  const auto index = sources_.Find(source);
  if (!index || failure_) return;
  const std::size_t element = SizeOf(options_.dtype);
  if (layout.size_bytes % element != 0) {
    failure_ = Error(
        ErrorCode::kInvalidArgument,
        fmt::format("object {} has {} bytes, which is no multiple of the {} of a {}",
                    source.ToShortString(), layout.size_bytes, element, Name(options_.dtype)));
    return;
  }
  if (!layout_) {
    layout_ = layout;
    sized_by_ = source;
  }
  if (layout.size_bytes != layout_->size_bytes) {
    failure_ =
        Error(ErrorCode::kInvalidArgument,
              fmt::format("object {} has {} bytes, but {} has {}", source.ToShortString(),
                          layout.size_bytes, sized_by_.ToShortString(), layout_->size_bytes));
    return;
  }
  if (sources_.ready().empty()) batch_since_ = now_;
  if (twin_ == Twin::kFoldsTwice) sources_.GiveBack(*index);
  sources_.AddHolder(*index, node, version, metadata, now_);
}

void ReducePlanner::OnHolderGone(const ObjectId& source, NodeId node) {
  if (const auto index = sources_.Find(source)) sources_.RemoveHolder(*index, node);
}

void ReducePlanner::OnDeleted(const ObjectId& source) {
  const auto index = sources_.Find(source);
  if (!index) return;
  sources_.MarkDeleted(*index);
  FailIfTooFew(*index);
}

void ReducePlanner::FailIfTooFew(SourceIndex deleted) {
  if (failure_ || sources_.possible() >= wanted_) return;
  failure_ = Error(ErrorCode::kDeleted,
                   fmt::format("object {}, a source, was deleted: {} of {} sources are left, {} "
                               "are needed",
                               sources_.id(deleted).ToShortString(), sources_.possible(),
                               sources_.size(), wanted_));
}

// What the position was made of is not used any more; it is filled, or vacated, by the next Plan.
void ReducePlanner::OnSlotLost(const SlotLost& lost, Time now) {
  now_ = std::max(now_, now);
  if (lost.slot == 0 || lost.slot > positions_.size() || failure_) return;
  Position& position = at(lost.slot);
  if (position.attempt != lost.attempt || position.order.node == kNoNode) return;
  if (EndsTheReduction(lost.code)) {
    failure_ = Error(lost.code, lost.message);
    return;
  }
  // Which of several is at fault isn't said; the one that is gone is told so by its own shard.
  const bool known = MeansGone(lost.code) && position.picks.size() == 1;
  for (std::size_t i = 0; i < position.picks.size(); ++i) {
    const SourceIndex pick = position.picks[i];
    const Version version = position.order.inputs[i].version;
    if (known) {
      sources_.RemoveVersion(pick, position.order.node, version);
    } else {
      sources_.Suspect(pick, position.order.node, version, now_ + kSuspicion);
    }
    sources_.GiveBack(pick);
    FailIfTooFew(pick);
  }
  position.order.node = kNoNode;
  position.order.inputs.clear();
  position.picks.clear();
  vacant_.insert(lost.slot);
  unsaid_.insert(lost.slot);
}

// --- answers

Time ReducePlanner::Plan(Time now, std::vector<NodeEvent>& orders) {
  now_ = std::max(now_, now);
  if (!link_ || failure_) return kNever;
  sources_.Expire(now_);
  if (!shaped_) {
    if (const Time due = WhenToShape(); due > now_) return due;
    Shape(orders);
  }
  Fill();
  Say(orders);
  return vacant_.empty() ? kNever : sources_.next_expiry();
}

// Sources that are there at the start are told one by one: one hop brings them all together.
Time ReducePlanner::WhenToShape() const {
  if (sources_.ready().empty()) return kNever;
  if (sources_.ready().size() >= wanted_) return now_;
  return batch_since_ + link_->latency + link_->overhead;
}

void ReducePlanner::Shape(std::vector<NodeEvent>& orders) {
  std::vector<Group> groups;  // a fixed order folds each source at a position of its own
  if (!options_.fixed_order) groups = GroupByNode(FirstReady(wanted_));
  std::size_t count = wanted_;
  for (const Group& group : groups) count -= group.picks.size() - 1;
  BuildTree(static_cast<std::uint32_t>(count));
  if (options_.root_here) PinRoot(groups);
  for (const Group& group : groups) {
    const bool here = pinned_ != 0 && group.node == self_ && vacant_.contains(pinned_);
    const std::uint32_t slot = here ? pinned_ : NextVacant();
    at(slot).share = group.picks.size();
    Place(slot, group);
  }
  target_metadata_ = metadata();
  shaped_ = true;
  orders.emplace_back(ShapeOrder());
}

void ReducePlanner::BuildTree(std::uint32_t count) {
  std::uint32_t degree = options_.fixed_order ? 1 : options_.degree;
  if (degree == 0) degree = BestReduceDegree(count, *layout_, *link_);
  for (const TreePosition& place : ReduceTree(count, degree)) {
    const std::uint32_t slot = AddPosition(place);
    if (place.parent == 0) root_ = slot;
    if (options_.fixed_order) slot_of_.push_back(slot);
  }
}

// The root folds what lies on this node, or else gets a root above it that only folds its output.
void ReducePlanner::PinRoot(const std::vector<Group>& groups) {
  const bool holds_some = options_.fixed_order
                              ? sources_.HolderAt(wanted_ - 1, self_) != nullptr
                              : std::ranges::find(groups, self_, &Group::node) != groups.end();
  if (holds_some) {
    pinned_ = root_;
    return;
  }
  pinned_ = AddPosition({.parent = 0, .children = 1});
  at(pinned_).share = 0;
  at(root_).order.parent = pinned_;
  root_ = pinned_;
  Place(pinned_, {self_, {}});
}

void ReducePlanner::Fill() {
  if (pinned_ != 0 && vacant_.contains(pinned_)) Place(pinned_, PicksHere(at(pinned_).share));
  if (options_.fixed_order) {
    const auto ready = sources_.ready();
    for (const auto& [rank, source] : ready) {
      Place(slot_of_[source], {sources_.FirstHolder(source)->node, {source}});
    }
    return;
  }
  while (!vacant_.empty() && !sources_.ready().empty()) {
    const std::uint32_t slot = NextVacant();
    Place(slot, GroupByNode(FirstReady(at(slot).share)).front());
  }
}

// Picks that the position stood for and that its new node can't give become its children.
void ReducePlanner::Place(std::uint32_t slot, const Group& group) {
  Position& position = at(slot);
  const std::size_t others = position.share - group.picks.size();
  position.order.node = group.node;
  position.picks = group.picks;
  position.share = group.picks.size();
  position.order.children += static_cast<std::uint32_t>(others);
  for (const SourceIndex pick : group.picks) {
    position.order.inputs.push_back(
        {sources_.id(pick), sources_.HolderAt(pick, group.node)->version});
    sources_.Take(pick);
  }
  vacant_.erase(slot);
  unsaid_.insert(slot);
  for (std::size_t i = 0; i < others; ++i) {
    const std::uint32_t child = AddPosition({.parent = slot, .children = 0});
    if (options_.fixed_order) slot_of_[wanted_ - 1] = child;  // only a pinned root gets any
  }
}

std::uint32_t ReducePlanner::AddPosition(const TreePosition& place) {
  const auto slot = static_cast<std::uint32_t>(positions_.size() + 1);
  positions_.push_back({.order = {.slot = slot,
                                  .parent = place.parent,
                                  .children = place.children,
                                  .node = kNoNode,
                                  .inputs = {}}});
  vacant_.insert(slot);
  return slot;
}

// A pinned root takes nothing but what lies on its node.
std::uint32_t ReducePlanner::NextVacant() const {
  const auto first = vacant_.begin();
  return *first == pinned_ ? *std::next(first) : *first;
}

std::vector<SourceIndex> ReducePlanner::FirstReady(std::size_t count) const {
  std::vector<SourceIndex> picks;
  for (const auto& [rank, source] : sources_.ready()) {
    if (picks.size() == count) break;
    picks.push_back(source);
  }
  return picks;
}

// In the order of the groups' first picks. A source joins a group rather than to found one.
std::vector<ReducePlanner::Group> ReducePlanner::GroupByNode(
    const std::vector<SourceIndex>& picks) const {
  std::vector<Group> groups;
  std::map<NodeId, std::size_t> group_at;
  for (const SourceIndex pick : picks) {
    const auto& holders = sources_.holders(pick);
    const auto joined = std::ranges::find_if(holders, [&](const SourceHolder& holder) {
      return sources_.Usable(holder) && group_at.contains(holder.node);
    });
    const NodeId node = joined != holders.end() ? joined->node : sources_.FirstHolder(pick)->node;
    const auto [group, fresh] = group_at.try_emplace(node, groups.size());
    if (fresh) groups.push_back({node, {}});
    groups[group->second].picks.push_back(pick);
  }
  return groups;
}

ReducePlanner::Group ReducePlanner::PicksHere(std::size_t count) const {
  std::vector<SourceIndex> picks = FirstReady(count);
  if (options_.fixed_order) picks = {wanted_ - 1};
  if (count == 0) picks.clear();
  std::erase_if(picks, [&](SourceIndex pick) {
    return !sources_.is_ready(pick) || sources_.HolderAt(pick, self_) == nullptr;
  });
  return {self_, std::move(picks)};
}

// What was said before comes first: sources that it gave up may be used by others now.
void ReducePlanner::Say(std::vector<NodeEvent>& orders) {
  const auto say = [&](std::uint32_t slot) {
    at(slot).attempt = ++attempts_;
    orders.emplace_back(AssignOrder(at(slot)));
  };
  std::vector<std::uint32_t> fresh;
  for (const std::uint32_t slot : std::exchange(unsaid_, {})) {
    if (at(slot).attempt == 0) {
      fresh.push_back(slot);
    } else {
      say(slot);
    }
  }
  std::ranges::for_each(fresh, say);
}

ReduceShape ReducePlanner::ShapeOrder() const {
  return {options_.target, request_, *layout_, {options_.op, options_.dtype}, target_metadata_};
}

SlotAssign ReducePlanner::AssignOrder(const Position& position) const {
  return {options_.target, request_, position.attempt, position.order};
}

std::vector<NodeEvent> ReducePlanner::Orders() const {
  if (!shaped_) return {};
  std::vector<NodeEvent> said{ShapeOrder()};
  for (const Position& position : positions_) {
    if (position.attempt != 0) said.emplace_back(AssignOrder(position));
  }
  return said;
}

const std::string& ReducePlanner::metadata() const {
  if (shaped_) return target_metadata_;
  const std::string* first = sources_.FirstMetadata();
  return options_.metadata.empty() && first != nullptr ? *first : options_.metadata;
}

std::vector<ObjectId> ReducePlanner::Available() const {
  std::vector<ObjectId> available;
  for (const SourceIndex source : sources_.Available()) available.push_back(sources_.id(source));
  return available;
}

std::string ReducePlanner::Missing() const {
  const std::vector<SourceIndex> missing = sources_.Missing();
  if (missing.empty()) return {};
  std::string text = fmt::format("{} of {} sources are missing", missing.size(), sources_.size());
  if (wanted_ < sources_.size()) text += fmt::format(" ({} are needed)", wanted_);
  for (std::size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i) {
    text += (i == 0 ? ": " : ", ") + sources_.id(missing[i]).ToShortString();
  }
  if (missing.size() > kMostNamed) text += fmt::format(" and {} more", missing.size() - kMostNamed);
  return text;
}

}  // namespace hoplite::planner
