// Planted faults: each breaks one rule, so that the simulation can show that its properties would
// notice. Only tests and simulations choose another value than kNone.
#pragma once

#include <cstdint>

namespace hoplite::planner {

enum class PlantedFault : std::uint8_t {
  kNone,
  kForgetsDescendants,        // a receiver may be sent to a node that pulls from it
  kHandsOutDeadNodes,         // suspended and lost nodes stay sources
  kMixesVersionsOnResume,     // a new version keeps the partial copies of the old one
  kDropsOldGrantCompletions,  // "my copy is complete" counts only while its grant is open
  kListsWaitersForMemory,     // who asked where the object is counts as a holder, before any Want
  kFoldsTwice,                // a source that is told again takes another slot
  kKeepsBytesOfOldSlots,      // a slot's new version starts with what the old one folded
  kResetsSiblings,            // a lost slot resets all others, not only those above it
  kDropsTheLastCopy,          // every relayed copy may go, also the only one that is left
};

}  // namespace hoplite::planner
