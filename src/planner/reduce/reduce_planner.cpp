#include "planner/reduce/reduce_planner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "planner/reduce/reduce_cost.h"
#include "planner/reduce/reduce_detours.h"
#include "planner/reduce/reduce_tree.h"
#include "protocol/elements.h"
#include "protocol/failure.h"
#include "protocol/object_name.h"

namespace hoplite::planner {
namespace {

constexpr std::size_t kMostNamed = 8;

std::unexpected<Error> Wrong(std::string message) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, std::move(message)));
}

}  // namespace

Fold FoldOf(const ReduceOptions& options, std::optional<DType> dtype) {
  return {.op = options.op,
          .dtype = dtype.value_or(DType{}),
          .sources = static_cast<std::uint32_t>(WantedOf(options)),
          .folded_bytes = options.folded_bytes};
}

std::string TargetMetadata(const Fold& fold, std::string_view asked, std::string_view first) {
  const std::string_view name = protocol::ToldName(asked);
  asked = protocol::WithoutName(asked);
  const std::string_view text = asked.empty() ? protocol::UsersPart(first) : asked;
  const bool noted = fold.folded_bytes == 0 && fold.dtype != DType{};
  return protocol::WithName(name,
                            noted ? protocol::WithElements(fold.dtype, text) : std::string(text));
}

ReducePlanner::ReducePlanner(const ReduceOptions& options, NodeId self, std::uint64_t request,
                             StripePlans allowed)
    : options_(options),
      self_(self),
      request_(request),
      allowed_(allowed),
      wanted_(WantedOf(options)),
      sources_(options.sources),
      kind_(options.op, options.dtype, options.alike),
      peers_(self) {}

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
  const DType dtype = fold().dtype;
  if (options_.folded_bytes != 0 || size_bytes % SizeOf(dtype) == 0) return {};
  return Wrong(fmt::format("object {} has {} bytes, which is no multiple of the {} of {}",
                           source.ToHex(), size_bytes, SizeOf(dtype), Name(dtype)));
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

void ReducePlanner::GiveBack(SourceIndex pick) {
  sources_.GiveBack(pick);
  FailIfTooFew(pick);
}

// --- answers

Time ReducePlanner::Plan(Time now, std::vector<NodeEvent>& orders) {
  now_ = std::max(now_, now);
  if (!link_ || failure_) return kNever;
  sources_.Expire(now_);
  peers_.Advance(now_);
  if (now_ < peers_.rests_until()) return peers_.rests_until();
  const bool anew = !planned_;
  if (anew) {
    if (const Time due = WhenToPlan(); due > now_) return due;
    PlanAnew();
    if (!shaped_) orders.emplace_back(ShapeOrder());
    shaped_ = true;
  }
  Placement().Fill();
  if (anew && !plan_.by_stripes) Bridge(peers_, sources_, plan_);
  Say(anew && said_as_ != 0, orders);
  return plan_.slots.vacant().empty() ? kNever : sources_.next_expiry();
}

// Whoever says where the root is, or how the tree looks, gets what he says.
bool ReducePlanner::EveryoneReads() const {
  const bool shaped = options_.root_here || options_.fixed_order || options_.degree != 0;
  return options_.everyone_reads && !shaped;
}

bool ReducePlanner::MayBeByStripes() const {
  return EveryoneReads() && wanted_ >= 2 && layout_->stripe_count >= 2 &&
         planned_by_stripes_ < kMostPlansByStripes;
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
  plan_ = {};
  ReducePlacement placement = Placement();
  if (MayBeByStripes() && placement.PlanStripes(allowed_)) {
    ++planned_by_stripes_;
  } else {
    placement.PlanTree();
    if (shaped_) plan_.slots.SayAgain(plan_.root);
  }
  if (plan_.by_stripes || shaped_) said_as_ = ++attempts_;
  if (!shaped_) target_metadata_ = metadata();
  planned_ = true;
}

void ReducePlanner::Say(bool as_one, std::vector<NodeEvent>& orders) {
  std::vector<PlannedOrder> said;
  for (const std::uint32_t slot : plan_.slots.TakeUnsaid()) {
    PlannedSlot& planned = plan_.slots.at(slot);
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
  return {options_.target, request_, *layout_, fold(), target_metadata_, EveryoneReads()};
}

ReduceOrders ReducePlanner::AsOne(std::vector<PlannedOrder> orders) const {
  return {options_.target, request_, said_as_, std::move(orders)};
}

ReduceOrders ReducePlanner::Alone(PlannedOrder order) const {
  return protocol::OneOrder(options_.target, request_, order.attempt, std::move(order.order));
}

SlotOrder ReducePlanner::OrderOf(const PlannedSlot& planned) const {
  SlotOrder order = planned.order;
  if (plan_.by_stripes) return order;
  order.parents = TreeSlot{.parent = planned.parent}.parents();
  order.stripes = layout_->all_stripes();
  return order;
}

std::vector<NodeEvent> ReducePlanner::Orders() const {
  if (!shaped_) return {};
  std::vector<NodeEvent> said{ShapeOrder()};
  if (!planned_) return said;
  std::vector<PlannedOrder> present;
  for (const PlannedSlot& planned : plan_.slots.all()) {
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
  if (!plan_.by_stripes) return fmt::format("a tree, slots: {}", plan_.slots.size());
  return fmt::format("{}, nodes: {}",
                     plan_.by_stripes->shape == StripeShape::kRing ? "a ring" : "two trees",
                     plan_.by_stripes->members);
}

std::string ReducePlanner::metadata() const {
  if (shaped_) return target_metadata_;
  const std::string* first = sources_.FirstMetadata();
  return TargetMetadata(fold(), options_.metadata, first != nullptr ? *first : "");
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
