// Without: mechanisms of the planner that are off, to see what each brings. Simulations only: a
// cluster has all of them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace hoplite::planner {

struct Without {
  bool rates = false;      // rates don't count where links differ, only where sites do
  bool relays = false;     // nobody is suspected of holding others up
  bool takeover = false;   // nobody takes the source of a receiver that has less (R8)
  bool gathering = false;  // the first pass waits for nobody, and nobody takes a fresh place
  bool forest = false;     // very many receivers stand in a line or a tree
  bool ring = false;       // no reduction is a ring
  bool trees = false;      // nor two trees

  static constexpr std::array<std::pair<std::string_view, bool Without::*>, 7> Names() {
    return {{{"rates", &Without::rates},
             {"relays", &Without::relays},
             {"takeover", &Without::takeover},
             {"gathering", &Without::gathering},
             {"forest", &Without::forest},
             {"ring", &Without::ring},
             {"trees", &Without::trees}}};
  }
  // "rates,forest"
  std::string ToString() const {
    std::string text;
    for (const auto& [name, member] : Names()) {
      if (this->*member) text.append(text.empty() ? "" : ",").append(name);
    }
    return text;
  }
};

}  // namespace hoplite::planner
