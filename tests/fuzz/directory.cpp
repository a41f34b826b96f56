#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "fuzz/targets.h"
#include "planner/shard/directory_state.h"
#include "unit/planner/ring_orders.h"

namespace hoplite::fuzz {
namespace {

using namespace planner;
using std::chrono::milliseconds;

constexpr std::size_t kMostEvents = 300;  // of one input

// Makes events of bytes. Whatever the wire lets pass may come: numbers of all sizes, versions,
// grants and slots that the shard gave to others, long ago or never.
class Members {
 public:
  Members(FuzzedDataProvider& data) : data_(data) {
    DirectoryOptions options;
    options.recovery_window = milliseconds(20 * data_.ConsumeIntegralInRange<int>(0, 1));
    options.tombstone = milliseconds(30);
    options.keep_apart = milliseconds(10);
    options.starved_after = milliseconds(10);
    options.inline_total_bytes = 100;
    state_.emplace(options, now_);
  }

  void Run() {
    for (std::size_t i = 0; i < kMostEvents && data_.remaining_bytes() > 0; ++i) {
      now_ += milliseconds(data_.ConsumeIntegralInRange<int>(0, 3));
      state_->Apply({now_, Something()});
      Check();
      if (data_.ConsumeIntegralInRange<int>(0, 2) > 0) Plan();
    }
    now_ += std::chrono::seconds(2);
    Plan();
    Require(!state_->collecting(), "collecting ends");
    for (const ObjectView& view : state_->Objects()) {
      Require(state_->Find(view.object).has_value(), "what is listed is found");
    }
  }

 private:
  void Check() const { RequireNothing(state_->BrokenInvariant()); }

  void Plan() {
    std::vector<Action> actions;
    state_->Plan(now_, actions);
    Check();
    for (const Action& action : actions) {
      std::visit(
          [this](const auto& body) {
            if constexpr (requires { body.version; }) Remember(versions_, body.version);
            if constexpr (requires { body.grant; }) Remember(grants_, body.grant);
          },
          action.body);
    }
  }
  template <typename T>
  void Remember(std::vector<T>& known, const T& stamp) {
    if (stamp && std::ranges::find(known, stamp) == known.end()) known.push_back(stamp);
  }

  std::uint32_t Small(std::uint32_t most) {
    return data_.ConsumeIntegralInRange<std::uint32_t>(0, most);
  }
  template <typename T>
  T StampOf(const std::vector<T>& known) {
    const std::size_t back = data_.ConsumeIntegralInRange<std::size_t>(0, 7);
    if (back < known.size()) return known[known.size() - 1 - back];
    return T{{1 + Small(2), Small(9)}};
  }
  Version AVersion() { return StampOf(versions_); }
  NodeId Node() { return NodeId{1 + Small(4)}; }
  ObjectId Object() { return ObjectId::FromName(std::to_string(Small(2))); }
  Layout ALayout() {
    switch (Small(7)) {
      case 0:
        return Layout::For(40, 1);
      case 1:
        return Layout::For(0, 1);
      case 2:
        return Layout::For(std::uint64_t{1} << 46, 64);
      default:
        return Layout::For(8 * 4 * 1024, 2);
    }
  }
  StripeMarks Marks() {
    StripeMarks marks(Small(15) == 15 ? Small(kMaxStripes) : 2);
    for (std::uint32_t& mark : marks) mark = Small(5);
    if (!marks.empty() && Small(15) == 15) marks[0] = data_.ConsumeIntegral<std::uint32_t>();
    return marks;
  }
  InlineBytes BytesOf(const Layout& layout) {
    if (layout.size_bytes > 40 || Small(3) == 3) return nullptr;
    return std::make_shared<const std::string>(layout.size_bytes, 'x');
  }
  ErrorCode Code() { return static_cast<ErrorCode>(1 + Small(12)); }
  std::uint32_t Slot() {
    return Small(15) == 15 ? data_.ConsumeIntegral<std::uint32_t>() : Small(5);
  }

  Held ACopy(const ObjectId& object) {
    Held held{object, AVersion(), ALayout(), "", {}};
    held.complete = Small(2) == 2;
    held.marks = held.complete ? held.layout.full_marks() : held.layout.empty_marks();
    for (std::uint32_t s = 0; !held.complete && s < held.marks.size(); ++s) {
      held.marks[s] = std::min(Small(5), held.layout.stripe_block_count(s));
    }
    held.produces = Small(3) == 3 ? Small(3) : 0;
    held.primary = Small(3) == 3;
    while (held.upstreams.size() < 3 && Small(1) == 1) {
      held.upstreams.push_back({Node(), StampOf(grants_), Small(3)});
    }
    return held;
  }
  // Some with sources that the shard may keep: then it folds them.
  ReduceOpen AnOpening(const ObjectId& object) {
    ReduceOpen open{.object = object, .request = Small(1)};
    for (std::uint32_t i = Small(3); i > 0; --i) open.shard_fold.sources.push_back(Object());
    open.shard_fold.fold.sources = 1 + Small(2);
    return open;
  }
  ReduceOrders AnAssignment(const ObjectId& object) {
    const std::uint64_t request = Small(1);
    const std::uint64_t attempt = Small(15);
    return protocol::OneOrder(object, request, attempt, AnOrder());
  }
  SlotOrder AnOrder() {
    SlotOrder order{.slot = Slot()};
    for (std::uint32_t i = Small(2); i > 0; --i) order.parents.push_back(Slot());
    order.stripes = Stripes();
    order.children = Small(2);
    if (Small(3) > 0) order.node = Node();
    for (std::uint32_t i = Small(2); i > 0; --i) order.inputs.push_back({Object(), AVersion()});
    return order;
  }
  // Of one stripe, of two, of all.
  StripeMask Stripes() {
    const StripeMask several[] = {1, 3, ~StripeMask{0}, Small(7)};
    return several[Small(3)];
  }
  // A ring, whole or not, or anything.
  ReduceOrders APlan(const ObjectId& object) {
    ReduceOrders plan{object, Small(1), Small(15), {}};
    std::vector<SlotOrder> orders;
    if (Small(3) > 0) {
      const RingOrders ring(ALayout(), {Node(), Node()});
      orders = ring.All();
    }
    if (orders.empty() || Small(3) == 0) orders.push_back(AnOrder());
    if (Small(3) == 0) orders[Small(static_cast<std::uint32_t>(orders.size() - 1))] = AnOrder();
    for (SlotOrder& order : orders) plan.orders.push_back({Small(15), std::move(order)});
    return plan;
  }

  RegisterUse ARegister(const ObjectId& object) {
    RegisterUse use{.object = object, .number = Small(31), .open = Small(7) > 0};
    if (Small(1) == 0) use.claim = AVersion();
    if (Small(1) == 0) {
      use.knows = RegisterContents{.version = AVersion(), .value = "known"};
      if (Small(1) == 0) use.knows->claim = use.knows->version;
    }
    if (Small(2) == 0) return use;
    use.call = RegisterCall{.number = Small(3)};
    if (Small(2) > 0) use.call->write = CompareAndSet{AVersion(), "written", Small(1) == 0};
    return use;
  }

  NodeEvent Request() {
    const ObjectId object = Object();
    switch (Small(27)) {
      case 0:
      case 1: {
        const Layout layout = ALayout();
        if (layout.size_bytes % 5 == 4) return Withdraw{object, Small(1)};
        return Create{object, layout, data_.ConsumeRandomLengthString(4), BytesOf(layout),
                      layout.size_bytes % 2};
      }
      case 2:
        return CopyComplete{object, AVersion()};
      case 3:
        if (Small(3) == 0) return CopyMoved{object, AVersion(), Small(1) == 0};
        return CopyGone{object, AVersion(), static_cast<GoneReason>(1 + Small(2))};
      case 4:
        return Locate{object, Small(2), std::uint64_t{Small(2)} << 16, Small(3)};
      case 5:
        return CancelLocate{object};
      case 6:
      case 7:
        return Want{object, AVersion(), Marks()};
      case 8:
        return CancelWant{object, AVersion()};
      case 9:
      case 10:
        return GrantClosed{object,
                           AVersion(),
                           StampOf(grants_),
                           static_cast<Outcome>(1 + Small(3)),
                           static_cast<Failure>(Small(6)),
                           Marks()};
      case 11:
        return Progress{object,
                        AVersion(),
                        Marks(),
                        data_.ConsumeIntegral<std::uint64_t>(),
                        milliseconds(10 * Small(2)),
                        std::chrono::microseconds(data_.ConsumeIntegral<std::uint32_t>())};
      case 12:
        return Delete{object};
      case 13:
        return EvictAsk{object, AVersion()};
      case 14:
        return Subscribe{object, Small(2)};
      case 15:
        return Small(1) == 0 ? NodeEvent(Unsubscribe{object}) : NodeEvent(ARegister(object));
      case 16:
        return ACopy(object);
      case 17:
        return HeldBytes{object, AVersion(),
                         std::make_shared<const std::string>(Small(1) * 40, 'x')};
      case 18:
        return Tombstone{object, milliseconds(Small(40)), AVersion()};
      case 19:
        return InventoryEnd{};
      case 20:
        return AnOpening(object);
      case 21:
        return ReduceShape{object, Small(1), ALayout(), Fold{}, ""};
      case 22:
        return AnAssignment(object);
      case 23:
        return APlan(object);
      case 24:
        return Small(1) == 0 ? NodeEvent(ReduceClose{object, Small(1), Code(), "given up"})
                             : NodeEvent(ToldWaits{{{object, "no memory is free"}}});
      case 25:
        return SlotFailed{object, Slot(), AVersion(), Slot(), AVersion(), Code(), "failed"};
      case 26:
        return Small(1) == 0
                   ? NodeEvent(SlotDrained{object, Slot(), AVersion(), Slot(), AVersion()})
                   : NodeEvent(ReduceCommit{object, AVersion()});
      default:
        return Small(1) == 0 ? NodeEvent(SlotProgress{object, Slot(), AVersion(), Marks(),
                                                      data_.ConsumeIntegral<std::uint64_t>(),
                                                      milliseconds(Small(9))})
                             : NodeEvent(StoreUsage{data_.ConsumeIntegral<std::uint64_t>(), 1});
    }
  }
  std::optional<Duration> Grace() {
    if (Small(1) == 0) return std::nullopt;
    return milliseconds(20 * Small(2));
  }
  // Of owners, and with what few members say.
  NodeEvent RareRequest() {
    const ObjectId object = Object();
    switch (Small(7)) {
      case 0:
      case 1:
        return Owner{object, Small(7), Small(1) == 1, Grace()};
      case 2:
        return Owned{object, Small(7), Small(1) == 1, Grace()};
      case 3: {
        Create create{.object = object, .layout = ALayout(), .attempt = Small(1)};
        create.inline_bytes = BytesOf(create.layout);
        create.owned = Small(3) > 0;
        create.only_if_owned = Small(1) == 1;
        create.number = Small(7);
        create.grace = Grace();
        return create;
      }
      case 4:
        return Locate{object, Small(7), std::uint64_t{Small(2)} << 16, Small(3), Small(1) == 1};
      case 5:
        return Want{object, AVersion(), Marks(), Small(1) == 1, Small(1) == 1};
      case 6:
        return EvictAsk{object, AVersion(), Node()};
      default: {
        Held held = ACopy(object);
        held.ever_owned = true;
        return held;
      }
    }
  }
  EventBody Something() {
    const NodeId node = Node();
    switch (Small(23)) {
      case 0:
        return NodeSuspended{node};
      case 1:
        return NodeLost{node};
      case 2:
      case 3:
      case 4:
        // The name may be that of another node.
        return NodeJoined{{node, "n" + std::to_string(Small(4)), "x:1"}, Small(3)};
      case 23:
        return NodeSaid{node, RareRequest()};
      default:
        return NodeSaid{node, Request()};
    }
  }

  FuzzedDataProvider& data_;
  Time now_{};
  std::optional<DirectoryState> state_;
  std::vector<Version> versions_;
  std::vector<GrantId> grants_;
};

}  // namespace

void Directory(Input input) {
  FuzzedDataProvider data(input.data(), input.size());
  Members(data).Run();
}

}  // namespace hoplite::fuzz
