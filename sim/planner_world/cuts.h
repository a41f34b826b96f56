// Cuts: which nodes can't connect to which, although both have a session (R68). One direction at a
// time; what a node can't connect to can still connect to it. A value type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "base/digest.h"

namespace hoplite::sim {

class Cuts {
 public:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;  // receiver, source

  void Cut(std::uint32_t receiver, std::uint32_t source) { cut_.emplace(receiver, source); }
  void Heal(std::uint32_t receiver, std::uint32_t source) { cut_.erase({receiver, source}); }
  bool Has(std::uint32_t receiver, std::uint32_t source) const {
    return cut_.contains({receiver, source});
  }
  const std::set<Pair>& all() const { return cut_; }

  // The receiver connects to the source, or to one of these that connects to the source.
  template <typename Nodes>
  bool HasWay(std::uint32_t receiver, std::uint32_t source, const Nodes& thirds) const {
    if (!Has(receiver, source)) return true;
    return std::ranges::any_of(thirds, [&](std::uint32_t third) {
      const bool other = third != receiver && third != source;
      return other && !Has(receiver, third) && !Has(third, source);
    });
  }
  void AddTo(Digest& digest) const {
    for (const auto& [receiver, source] : cut_) digest.Add(receiver).Add(source);
  }

 private:
  std::set<Pair> cut_;
};

}  // namespace hoplite::sim
