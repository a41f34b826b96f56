#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "base/reduce_options.h"
#include "fuzz/targets.h"
#include "planner/reduce/reduce_planner.h"
#include "planner/shard/directory_state.h"

namespace hoplite::fuzz {
namespace {

using namespace planner;
using std::chrono::milliseconds;

constexpr std::size_t kMostSteps = 300;  // of one input
constexpr NodeId kCoordinator{1};
constexpr std::uint64_t kRequest = 7;

ReduceOptions OptionsOf(FuzzedDataProvider& data) {
  ReduceOptions options;
  options.dtype = DType::kFloat32;
  options.target = ObjectId::FromName("target");
  const int sources = data.ConsumeIntegralInRange<int>(1, 6);
  for (int i = 0; i < sources; ++i) {
    options.sources.push_back(ObjectId::FromName(std::to_string(i)));
  }
  options.num_objects = data.ConsumeIntegralInRange<std::uint64_t>(1, 6);
  options.everyone_reads = data.ConsumeBool();
  if (options.everyone_reads) return options;  // how the tree looks would make it one
  options.root_here = data.ConsumeBool();
  options.fixed_order = data.ConsumeBool();
  options.degree = data.ConsumeIntegralInRange<std::uint32_t>(0, 4);
  return options;
}

// The coordinator's planner and the target's shard are real and talk to each other; what nodes do
// is up to the bytes: they hold sources, lose them, execute what they are told or not, and leave. A
// reduction that everyone reads has several stripes, and may be a ring.
class Plans {
 public:
  Plans(FuzzedDataProvider& data, const ReduceOptions& options)
      : data_(data),
        options_(options),
        layout_(options.everyone_reads ? Layout::For(4 << 20, 4) : Layout::For(1 << 18, 1)),
        planner_(options, kCoordinator, kRequest) {
    for (std::uint64_t node = 1; node <= 5; ++node) Join(NodeId{node});
  }

  void Run() {
    Say(kCoordinator, ReduceOpen{options_.target, kRequest});
    for (std::size_t i = 0; i < kMostSteps && data_.remaining_bytes() > 0; ++i) {
      now_ += milliseconds(data_.ConsumeIntegralInRange<int>(0, 400));
      Something();
      Exchange();
    }
  }

 private:
  void Join(NodeId node) { Apply(NodeJoined{{node, "n" + std::to_string(Raw(node)), "x:1"}, 0}); }
  void Apply(EventBody body) {
    state_.Apply({now_, std::move(body)});
    changed_ = true;
  }
  void Say(NodeId node, NodeEvent event) { Apply(NodeSaid{node, std::move(event)}); }

  // Passes words on until neither side has anything to say.
  void Exchange() {
    for (bool more = true; more;) {
      std::vector<NodeEvent> orders;
      if (!planner_.failure()) planner_.Plan(now_, orders);
      for (NodeEvent& order : orders) {
        Note(order);
        Say(kCoordinator, std::move(order));
      }
      CheckState();
      std::vector<Action> actions;
      state_.Plan(now_, actions);
      changed_ |= !actions.empty();
      CheckState();
      for (const Action& action : actions) Hear(action);
      more = !actions.empty() || !orders.empty();
    }
  }

  void CheckState() {
    if (!std::exchange(changed_, false)) return;
    CheckOrders();
    RequireNothing(state_.BrokenInvariant());
  }

  void Hear(const Action& action) {
    if (const auto* assigned = std::get_if<SlotAssigned>(&action.body)) {
      assigned_.push_back({action.to, *assigned});
    }
    if (action.to != kCoordinator) return;
    if (const auto* opened = std::get_if<ReduceOpened>(&action.body)) {
      planner_.OnOpened(opened->link);
      for (NodeEvent& order : planner_.Orders()) Say(kCoordinator, std::move(order));
    } else if (const auto* lost = std::get_if<SlotLost>(&action.body)) {
      planner_.OnSlotLost(*lost, now_);
    } else if (const auto* committed = std::get_if<ReduceCommitted>(&action.body)) {
      CheckUsed(committed->used);
    }
  }

  void Note(const NodeEvent& order) {
    const auto* said = std::get_if<ReduceOrders>(&order);
    if (said == nullptr) return;
    if (said->plan != 0) orders_.clear();
    for (const PlannedOrder& planned : said->orders) orders_[planned.order.slot] = planned.order;
  }
  // A source counts once in each stripe, and no more than are wanted, in all that was ordered last.
  // Not after each order: a source may go from one slot that was lost to another.
  void CheckOrders() const {
    std::set<ObjectId> in_some;
    for (std::uint32_t stripe = 0; stripe < layout_.stripe_count; ++stripe) {
      std::vector<ObjectId> used;
      for (const auto& [slot, order] : orders_) {
        if ((order.stripes >> stripe & 1) == 0) continue;
        for (const SlotInput& input : order.inputs) used.push_back(input.object);
      }
      CheckUsed(used);
      in_some.insert(used.begin(), used.end());
      Require(in_some.size() == used.size(), "all stripes are made of the same sources");
    }
  }
  void CheckUsed(const std::vector<ObjectId>& used) const {
    const std::set<ObjectId> once(used.begin(), used.end());
    Require(once.size() == used.size(), "no source counts twice");
    Require(used.size() <= options_.num_objects.value(), "no more sources than wanted count");
    for (const ObjectId& source : used) {
      Require(std::ranges::find(options_.sources, source) != options_.sources.end(),
              "only sources that were named count");
    }
  }

  std::uint32_t Small(std::uint32_t most) {
    return data_.ConsumeIntegralInRange<std::uint32_t>(0, most);
  }
  NodeId Node() { return NodeId{1 + Small(4)}; }
  const ObjectId& Source() {
    return options_.sources[Small(static_cast<std::uint32_t>(options_.sources.size() - 1))];
  }
  Version AVersion() { return {{1, 1 + Small(1)}}; }
  StripeMarks Marks() {
    StripeMarks marks = layout_.full_marks();
    for (std::uint32_t stripe = 0; stripe < layout_.stripe_count; ++stripe) {
      if (Small(1) == 0) marks[stripe] = Small(16);
    }
    return marks;
  }

  void Something() {
    switch (Small(15)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return planner_.OnHolder(Source(), Small(15) == 15 ? kNoNode : Node(), AVersion(),
                                 Small(31) == 31 ? Layout::For(4, layout_.stripe_count) : layout_,
                                 "meta", now_);
      case 4:
        return planner_.OnHolderGone(Source(), Node());
      case 5:
        return planner_.OnDeleted(Source());
      case 6:
        return planner_.OnSlotLost({options_.target, kRequest, Small(15), Small(9),
                                    static_cast<ErrorCode>(1 + Small(12)), "lost"},
                                   now_);
      case 7:
        return Apply(NodeSuspended{Node()});
      case 8:
        return Return(Node());
      case 9:
        return Lose(Node());
      case 10: {
        const NodeId node = Node();
        return Say(node, Locate{options_.target});
      }
      default:
        return Participate();
    }
  }
  // The session is back: the coordinator repeats its request.
  void Return(NodeId node) {
    Join(node);
    if (node == kCoordinator) Say(node, ReduceOpen{options_.target, kRequest});
    Say(node, InventoryEnd{});
  }
  void Lose(NodeId node) {
    if (node == kCoordinator) return;
    Apply(NodeLost{node});
    for (const ObjectId& source : options_.sources) planner_.OnHolderGone(source, node);
  }
  // Says something, true or not, as a node that was given a slot.
  void Participate() {
    if (assigned_.empty()) return;
    const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(assigned_.size(), 8) - 1);
    const auto& [node, what] = assigned_[assigned_.size() - 1 - Small(most)];
    const auto& [other_node, child] = assigned_[assigned_.size() - 1 - Small(most)];
    switch (Small(4)) {
      case 0:
        return Say(node, SlotProgress{.object = what.object,
                                      .slot = what.order.slot,
                                      .version = what.version,
                                      .marks = Marks(),
                                      .bytes_per_second = 1,
                                      .round_trip = milliseconds(1)});
      case 1:
        return Say(node, SlotFailed{what.object, what.order.slot, what.version, child.order.slot,
                                    child.version, static_cast<ErrorCode>(1 + Small(12)), "it"});
      case 2:
        return Say(node, SlotFailed{what.object, what.order.slot, what.version, 0, Version(),
                                    static_cast<ErrorCode>(1 + Small(12)), "self"});
      case 3:
        return Say(node, SlotDrained{what.object, what.order.slot, what.version, child.order.slot,
                                     child.version});
      default:
        return Say(node, ReduceCommit{what.object, what.version});
    }
  }

  FuzzedDataProvider& data_;
  const ReduceOptions options_;
  const Layout layout_;
  Time now_{};
  ReducePlanner planner_;
  DirectoryState state_{{.recovery_window = Duration(0)}, Time{}};
  std::map<std::uint32_t, SlotOrder> orders_;  // of the present plan, as ordered last
  std::vector<std::pair<NodeId, SlotAssigned>> assigned_;
  bool changed_ = true;  // since the last look at the invariants
};

}  // namespace

void Reduction(Input input) {
  FuzzedDataProvider data(input.data(), input.size());
  const ReduceOptions options = OptionsOf(data);
  if (CheckReduceOptions(options)) Plans(data, options).Run();
}

}  // namespace hoplite::fuzz
