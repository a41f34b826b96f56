#include "sound_plan.h"

#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hoplite::planner {
namespace {

// One stripe of a plan.
class OfStripe {
 public:
  OfStripe(const SlotPlan& plan, std::uint32_t stripe) : plan_(plan), stripe_(stripe) {}

  std::string Wrong() {
    for (const auto& [slot, order] : plan_) {
      if (!Makes(order)) continue;
      if (std::string wrong = WrongAt(order); !wrong.empty()) return wrong;
    }
    return root_ == 0 ? fmt::format("stripe {} has no root", stripe_) : std::string();
  }
  const std::set<ObjectId>& sources() const { return sources_; }

 private:
  bool Makes(const SlotOrder& order) const { return (order.stripes >> stripe_ & 1) != 0; }

  // 0: it is a root; none: it feeds nobody, or several.
  std::optional<std::uint32_t> Fed(const SlotOrder& order) const {
    if (order.root()) return 0;
    std::optional<std::uint32_t> fed;
    for (const std::uint32_t parent : order.parents) {
      const auto above = plan_.find(parent);
      if (above == plan_.end() || !Makes(above->second)) continue;
      if (fed) return std::nullopt;
      fed = parent;
    }
    return fed;
  }

  std::string WrongAt(const SlotOrder& order) {
    for (const SlotInput& input : order.inputs) {
      if (sources_.insert(input.object).second) continue;
      return fmt::format("stripe {} has a source twice, at slot {}", stripe_, order.slot);
    }
    std::set<std::uint32_t> path;
    for (std::uint32_t at = order.slot; !good_.contains(at);) {
      if (!path.insert(at).second) {
        return fmt::format("stripe {} goes in a circle at slot {}", stripe_, at);
      }
      const auto fed = Fed(plan_.at(at));
      if (!fed) return fmt::format("stripe {} of slot {} has no one parent", stripe_, at);
      if (*fed == 0 && root_ != 0) return fmt::format("stripe {} has two roots", stripe_);
      if (*fed == 0) {
        root_ = at;
        break;
      }
      at = *fed;
    }
    good_.merge(path);
    return {};
  }

  const SlotPlan& plan_;
  std::uint32_t stripe_;
  std::uint32_t root_ = 0;
  std::set<std::uint32_t> good_;  // that lead to the root
  std::set<ObjectId> sources_;
};

std::string WrongChildren(const SlotPlan& plan) {
  std::map<std::uint32_t, std::uint32_t> children;
  for (const auto& [slot, order] : plan) {
    for (const std::uint32_t parent : order.parents) {
      const auto above = plan.find(parent);
      if (above == plan.end() || (above->second.stripes & order.stripes) == 0) {
        return fmt::format("slot {} feeds slot {} nothing", slot, parent);
      }
      ++children[parent];
    }
  }
  for (const auto& [slot, order] : plan) {
    if (order.children != children[slot])
      return fmt::format("slot {} counts its children wrong", slot);
  }
  return {};
}

}  // namespace

std::string WrongWith(const SlotPlan& plan, const Layout& layout) {
  if (std::string wrong = WrongChildren(plan); !wrong.empty()) return wrong;
  std::optional<std::set<ObjectId>> sources;
  for (std::uint32_t stripe = 0; stripe < layout.stripe_count; ++stripe) {
    OfStripe one(plan, stripe);
    if (std::string wrong = one.Wrong(); !wrong.empty()) return wrong;
    if (sources && *sources != one.sources()) {
      return fmt::format("stripe {} is of other sources than stripe 0", stripe);
    }
    sources = one.sources();
  }
  return {};
}

std::vector<std::string> InWords(const std::vector<SlotOrder>& orders) {
  std::vector<std::string> lines;
  for (const SlotOrder& order : orders) {
    std::string stripes;
    for (int stripe = 0; stripe < 10; ++stripe) {
      if ((order.stripes >> stripe & 1) != 0) stripes += std::to_string(stripe);
    }
    lines.push_back(
        fmt::format("{}: {} {} to {}, fed by {}", order.slot,
                    order.node == kNoNode ? "-" : std::string(1, char('@' + Raw(order.node))),
                    stripes, fmt::join(order.parents, " "), order.children));
  }
  return lines;
}

std::size_t SourcesIn(const SlotPlan& plan) {
  std::set<ObjectId> sources;
  for (const auto& [slot, order] : plan) {
    for (const SlotInput& input : order.inputs) sources.insert(input.object);
  }
  return sources.size();
}

}  // namespace hoplite::planner
