#include "sim/spill_world/spill_search.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace hoplite::sim {
namespace {

// A state, how it was first reached, and whence it can be reached.
struct Place {
  const SpillWorld::State* state = nullptr;
  std::size_t before = 0;
  std::string step = {};
  std::vector<std::size_t> all_before = {};
  bool broken = false;
};

class Places {
 public:
  explicit Places(const SpillWorld& world) : world_(world) { At({}, 0, ""); }

  SpillFound Search() {
    SpillFound found;
    std::vector<std::size_t> ends;
    std::optional<std::size_t> first_bad;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const SpillWorld::State state = *places_[i].state;
      std::string bad = world_.Broken(state);
      places_[i].broken = !bad.empty();
      if (places_[i].broken) ++found.broken;
      const bool ended = bad.empty() && world_.Ended(state);
      if (ended) ends.push_back(i);
      const bool moves = !places_[i].broken && AddAfter(i, state);
      if (bad.empty() && !ended && !moves) {
        bad = "stuck";
        ++found.stuck;
      }
      if (!bad.empty() && !first_bad) {
        first_bad = i;
        found.way = WayTo(i) + bad;
      }
    }
    found.states = places_.size();
    found.doomed = Doomed(ends);
    return found;
  }

 private:
  std::size_t At(const SpillWorld::State& state, std::size_t before, std::string step) {
    const auto [known, is_new] = known_.try_emplace(state, places_.size());
    if (is_new) places_.push_back({&known->first, before, std::move(step)});
    return known->second;
  }

  bool AddAfter(std::size_t from, const SpillWorld::State& state) {
    const auto steps = world_.Steps(state);
    for (const SpillWorld::Step& step : steps) {
      const std::size_t to =
          At(step.after, from, fmt::format("{} {}@{}; ", step.name, step.object, step.node));
      places_[to].all_before.push_back(from);
    }
    return !steps.empty();
  }

  // Against the steps, from all ends.
  std::size_t Doomed(std::vector<std::size_t> ends) const {
    std::vector<bool> can_end(places_.size());
    for (const std::size_t end : ends) can_end[end] = true;
    while (!ends.empty()) {
      const std::size_t at = ends.back();
      ends.pop_back();
      for (const std::size_t before : places_[at].all_before) {
        if (can_end[before]) continue;
        can_end[before] = true;
        ends.push_back(before);
      }
    }
    std::size_t doomed = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (!can_end[i] && !places_[i].broken) ++doomed;
    }
    return doomed;
  }

  std::string WayTo(std::size_t place) const {
    std::vector<std::string> steps;
    for (; place != 0; place = places_[place].before) steps.push_back(places_[place].step);
    std::string way;
    for (const std::string& step : steps | std::views::reverse) way += step;
    return way;
  }

  const SpillWorld& world_;
  std::map<SpillWorld::State, std::size_t> known_;
  std::vector<Place> places_;
};

}  // namespace

SpillFound SpillSearch(const SpillWorld& world) { return Places(world).Search(); }

}  // namespace hoplite::sim
