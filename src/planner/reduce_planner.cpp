#include "planner/reduce_planner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "planner/reduce_cost.h"
#include "planner/reduce_tree.h"
#include "protocol/failure.h"

namespace hoplite::planner {
namespace {

// A slot that failed tells nothing certain about its sources; they are left alone for so long.
constexpr Duration kSuspicion = std::chrono::seconds(1);
// When no node has memory for a partial result, all are asked again for so long.
constexpr Duration kPoorPatience = std::chrono::seconds(5);
constexpr Duration kRest = std::chrono::milliseconds(500);
constexpr std::size_t kMostNamed = 8;

bool MeansGone(ErrorCode code) {
  return code == ErrorCode::kDeleted || code == ErrorCode::kNotFound ||
         code == ErrorCode::kRecalled;
}

std::unexpected<Error> Wrong(std::string message) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, std::move(message)));
}

}  // namespace

Fold FoldOf(const ReduceOptions& options) {
  const std::uint64_t sources = options.num_objects.value_or(options.sources.size());
  return {.op = options.op,
          .dtype = options.dtype,
          .sources = static_cast<std::uint32_t>(sources),
          .folded_bytes = options.folded_bytes};
}

ReducePlanner::ReducePlanner(const ReduceOptions& options, NodeId self, std::uint64_t request,
                             bool two_trees)
    : options_(options),
      self_(self),
      request_(request),
      two_trees_(two_trees),
      wanted_(options.num_objects.value_or(options.sources.size())),
      sources_(options.sources),
      kind_(options.alike) {}

// --- told

void ReducePlanner::OnOpened(const LinkModel& link) { link_ = link; }

void ReducePlanner::OnHolder(const ObjectId& source, NodeId node, Version version,
                             const Layout& layout, const std::string& metadata, Time now) {
  now_ = std::max(now_, now);
  const auto index = sources_.Find(source);
  if (!index || failure_) return;
  if (const auto why = FailureIn(metadata)) return OnFailed(source, *why);
  if (const auto alike = kind_.Hear(source, metadata); !alike) {
    failure_ = alike.error();
    return;
  }
  if (auto folds = MayFold(source, layout.size_bytes); !folds) {
    failure_ = std::move(folds).error();
    return;
  }
  if (!layout_) {
    layout_ = layout;
    sized_by_ = source;
  }
  if (layout.size_bytes != layout_->size_bytes) {
    failure_ = Error(ErrorCode::kInvalidArgument,
                     fmt::format("object {} has {} bytes, but {} has {}", source.ToHex(),
                                 layout.size_bytes, sized_by_.ToHex(), layout_->size_bytes));
    return;
  }
  if (sources_.ready().empty()) batch_since_ = now_;
  const bool was_ready = sources_.is_ready(*index);
  failed_.erase(*index);
  sources_.AddHolder(*index, node, version, metadata, now_);
  if (!was_ready && sources_.is_ready(*index)) came_at_ = now_;
}

Result<void> ReducePlanner::MayFold(const ObjectId& source, std::uint64_t size_bytes) const {
  if (size_bytes < options_.folded_bytes) {
    return Wrong(fmt::format("object {} has {} bytes, of which {} are to be folded", source.ToHex(),
                             size_bytes, options_.folded_bytes));
  }
  if (options_.folded_bytes != 0 || size_bytes % SizeOf(options_.dtype) == 0) return {};
  return Wrong(fmt::format("object {} has {} bytes, which is no multiple of the {} of {}",
                           source.ToHex(), size_bytes, SizeOf(options_.dtype),
                           Name(options_.dtype)));
}

void ReducePlanner::OnHolderGone(const ObjectId& source, NodeId node) {
  if (const auto index = sources_.Find(source)) sources_.RemoveHolder(*index, node);
}

void ReducePlanner::OnDeleted(const ObjectId& source) {
  const auto index = sources_.Find(source);
  if (!index) return;
  failed_.erase(*index);
  sources_.MarkDeleted(*index);
  FailIfTooFew(*index);
}

void ReducePlanner::OnFailed(const ObjectId& source, const Error& why) {
  const auto index = sources_.Find(source);
  if (!index) return;
  failed_.insert_or_assign(*index, why);
  sources_.MarkDeleted(*index);
  FailIfTooFew(*index);
}

void ReducePlanner::FailIfTooFew(SourceIndex lost) {
  if (failure_ || sources_.possible() >= wanted_) return;
  const std::string left = fmt::format("{} of {} sources are left, {} are needed",
                                       sources_.possible(), sources_.size(), wanted_);
  const std::string source = fmt::format("object {}, a source", sources_.id(lost).ToHex());
  const auto failed = failed_.find(lost);
  if (failed == failed_.end()) {
    failure_ = Error(ErrorCode::kDeleted, fmt::format("{}, was deleted: {}", source, left));
  } else {
    const Error& why = failed->second;
    failure_ = Error(why.code, fmt::format("{}, failed: {} ({})", source, why.message, left));
  }
}

// What the slot was made of is not used any more; it is filled, or vacated, by the next Plan.
void ReducePlanner::OnSlotLost(const SlotLost& lost, Time now) {
  now_ = std::max(now_, now);
  if (lost.slot == 0 || lost.slot > slots_.size() || failure_) return;
  const PlannedSlot& planned = slots_.at(lost.slot);
  if (planned.attempt != lost.attempt || planned.vacant()) return;
  if (lost.code == ErrorCode::kInvalidArgument) {
    failure_ = Error(lost.code, lost.message);
    return;
  }
  NoteLoss(lost);
  if (lost.receiver != kNoNode && OnBlocked(lost)) return;
  if (bridges_.contains(lost.slot) && OnBridgeLost(lost)) return;
  const bool no_memory = lost.code == ErrorCode::kResourceExhausted;
  // One that only folds for others goes elsewhere, whatever was wrong.
  const bool only_folds = planned.picks.empty() && lost.slot != pinned_;
  if (by_stripes_ && no_memory) {
    OnPoorMember(planned.order.node);
  } else if (no_memory || only_folds) {
    OnPoor(lost.slot, lost);
  }
  GiveUp(planned, lost);
  if (by_stripes_) {
    EndPlan();
  } else {
    slots_.Vacate(lost.slot);
  }
}

// What else is lost while two can't connect is often lost since another has to stand for one of them.
void ReducePlanner::NoteLoss(const SlotLost& lost) {
  last_loss_ = lost.message;
  if (lost.receiver != kNoNode) {
    pair_loss_ = lost.message;
  } else if (bridges_.contains(lost.slot)) {
    last_loss_ = pair_loss_ + "; between the two, " + lost.message;
  } else if (AnyBlocked()) {
    last_loss_ = pair_loss_ + "; also, " + lost.message;
  }
}

// Which of several is at fault isn't said, but its own shard tells where it is no more: if that was
// told already, the others have no part in it.
void ReducePlanner::GiveUp(const PlannedSlot& planned, const SlotLost& lost) {
  const bool gone = MeansGone(lost.code);
  const bool told = gone && LacksOne(planned);
  // Who needs none and says so all the same would say so again at once.
  const bool no_memory =
      lost.code == ErrorCode::kResourceExhausted && !slots_.NeedsNoMemory(lost.slot);
  for (std::size_t i = 0; i < planned.picks.size(); ++i) {
    const SourceIndex pick = planned.picks[i];
    const Version version = planned.order.inputs[i].version;
    if (gone && planned.picks.size() == 1) {
      sources_.RemoveVersion(pick, planned.order.node, version);
    } else if (!told && !no_memory) {
      sources_.Suspect(pick, planned.order.node, version, now_ + kSuspicion);
    }
    GiveBack(pick);
  }
}

bool ReducePlanner::LacksOne(const PlannedSlot& planned) const {
  for (std::size_t i = 0; i < planned.picks.size(); ++i) {
    const Version version = planned.order.inputs[i].version;
    if (!sources_.Holds(planned.picks[i], planned.order.node, version)) return true;
  }
  return false;
}

void ReducePlanner::GiveBack(SourceIndex pick) {
  sources_.GiveBack(pick);
  FailIfTooFew(pick);
}

// Its sources are served as they are from now on, and another folds them. If there is no other, all
// are asked once more after a while; but what never fits was answered at once.
void ReducePlanner::OnPoor(std::uint32_t slot, const SlotLost& lost) {
  const PlannedSlot& planned = slots_.at(slot);
  poor_.insert(planned.order.node);
  if (!poor_since_) poor_since_ = now_;
  if (slot != pinned_ && !poor_.contains(NodeWithMemory())) return;
  const bool never = now_ < planned.said_at + kRest || now_ > *poor_since_ + kPoorPatience;
  if (never && lost.code == ErrorCode::kResourceExhausted) {
    failure_ = Error(lost.code, lost.message);
    return;
  }
  poor_.clear();
  rests_until_ = now_ + kRest;
}

// --- answers

Time ReducePlanner::Plan(Time now, std::vector<NodeEvent>& orders) {
  now_ = std::max(now_, now);
  if (!link_ || failure_) return kNever;
  sources_.Expire(now_);
  if (now_ < rests_until_) return rests_until_;
  const bool anew = !planned_;
  if (anew) {
    if (const Time due = WhenToPlan(); due > now_) return due;
    PlanAnew();
    if (!shaped_) orders.emplace_back(ShapeOrder());
    shaped_ = true;
  }
  Fill();
  if (!planned_) return Plan(now_, orders);
  if (anew && !by_stripes_) Bridge();
  Say(anew && said_as_ != 0, orders);
  return slots_.vacant().empty() ? kNever : sources_.next_expiry();
}

// Sources that are there at the start are told one by one: one hop brings them all together. By
// stripes it is worth to wait a little longer, as long as they come.
Time ReducePlanner::WhenToPlan() const {
  if (sources_.ready().empty()) return sources_.next_expiry();
  if (sources_.ready().size() >= wanted_) return now_;
  if (!MayBeByStripes()) return batch_since_ + link_->latency + link_->overhead;
  const RingWaits waits = RingWaitsFor(*layout_, *link_);
  return std::min(came_at_ + waits.from_last, batch_since_ + waits.from_first);
}

// A first plan that is a tree is said slot by slot, as it fills. What replaces another is said as
// one, with a root, so that nothing of the other is left.
void ReducePlanner::PlanAnew() {
  slots_ = {};
  bridges_.clear();
  slot_of_.clear();
  pinned_ = 0;
  by_stripes_.reset();
  if (const std::optional<Stripes> plan = ByStripes()) {
    PlanStripes(*plan);
  } else {
    PlanTree();
    if (shaped_) slots_.SayAgain(root_);
  }
  if (by_stripes_ || shaped_) said_as_ = ++attempts_;
  if (!shaped_) target_metadata_ = metadata();
  planned_ = true;
}

void ReducePlanner::Say(bool as_one, std::vector<NodeEvent>& orders) {
  std::vector<PlannedOrder> said;
  for (const std::uint32_t slot : slots_.TakeUnsaid()) {
    PlannedSlot& planned = slots_.at(slot);
    planned.attempt = ++attempts_;
    planned.said_at = now_;
    said.push_back({planned.attempt, OrderOf(planned)});
  }
  if (as_one) {
    orders.emplace_back(AsOne(std::move(said)));
    said_to_ = attempts_;
  } else {
    for (PlannedOrder& order : said) orders.emplace_back(Alone(std::move(order)));
  }
}

ReduceShape ReducePlanner::ShapeOrder() const {
  return {options_.target, request_, *layout_, FoldOf(options_), target_metadata_, EveryoneReads()};
}

ReduceOrders ReducePlanner::AsOne(std::vector<PlannedOrder> orders) const {
  return {options_.target, request_, said_as_, std::move(orders)};
}

SlotAssign ReducePlanner::Alone(PlannedOrder order) const {
  return {options_.target, request_, order.attempt, std::move(order.order)};
}

SlotOrder ReducePlanner::OrderOf(const PlannedSlot& planned) const {
  SlotOrder order = planned.order;
  if (by_stripes_) return order;
  order.parents = TreeSlot{.parent = planned.parent}.parents();
  order.stripes = layout_->all_stripes();
  return order;
}

std::vector<NodeEvent> ReducePlanner::Orders() const {
  if (!shaped_) return {};
  std::vector<NodeEvent> said{ShapeOrder()};
  if (!planned_) return said;
  std::vector<PlannedOrder> present;
  for (const PlannedSlot& planned : slots_.all()) {
    if (planned.said()) present.push_back({planned.attempt, OrderOf(planned)});
  }
  if (said_as_ != 0) said.emplace_back(AsOne(present));
  for (PlannedOrder& order : present) {
    if (order.attempt > said_to_) said.emplace_back(Alone(std::move(order)));
  }
  return said;
}

std::string ReducePlanner::Describe() const {
  if (!planned_) return "no plan";
  if (!by_stripes_) return fmt::format("a tree, slots: {}", slots_.size());
  return fmt::format("{}, members: {}",
                     by_stripes_->shape == StripeShape::kRing ? "a ring" : "two trees",
                     by_stripes_->members);
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
    text += (i == 0 ? ": " : ", ") + sources_.id(missing[i]).ToHex();
  }
  if (missing.size() > kMostNamed) text += fmt::format(" and {} more", missing.size() - kMostNamed);
  return text;
}

}  // namespace hoplite::planner
