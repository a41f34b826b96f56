// Planted faults: each breaks one rule of the directory, of a reduction or of a stream, so that the
// simulations can show that their properties would notice. Only tests choose another value than
// kNone.
#pragma once

#include <cstdint>

namespace hoplite::sim {

enum class PlantedFault : std::uint8_t {
  kNone,
  kForgetsDescendants,     // who lost its source is sent to a node that pulls from it (R7)
  kHandsOutDeadNodes,      // no end of a session is heard of: suspended and lost nodes stay
  kMixesVersionsOnResume,  // a new version goes by the number of the old one, partial copies stay
  kKeepsGrantsOpen,        // no end of a grant is heard of (R5)
  kDropsOldGrantCompletions,  // "my copy is complete" counts only while its grant is open (R5)
  kListsWaitersForMemory,     // who asked where the object is has said Want, memory or not (R9)
  kFoldsTwice,                // a slot has one of its sources twice
  kKeepsBytesOfOldSlots,      // a slot's new version starts with what the old one folded
  kResetsSiblings,            // a lost slot resets all others, not only those above it
  kOneVersionPerRoot,         // each root makes a version of its own
  kCommitsAtTheLastFold,      // nobody needs to have all of the target
  kEndsBySeal,                // no stripe ends before all stripes of its slot are final
  kDropsTheLastCopy,          // every relayed copy may go, also the only one that is left (R18)
  kAsksInAnyOrder,            // also who reads through a window (R19)
  kForgetsBlockedPairs,       // who could not connect is sent there once more, at once (R68)
  kNeverTriesAgain,           // who could not connect is never sent there again
  kAsksNoThird,               // nobody gets a copy for who can't reach the holders
  kNamesNoPair,               // the coordinator hears that a slot is lost, not between which two
  kTakesOneWayForBoth,        // that it can't fold what the other makes, either
  kTakesTheOtherWay,          // that the other can't connect, instead of that it can't
  kTakesAnyGive,              // a Give answers another question than the one that it names (R83)
  kPlansThemBeside,           // the plan that follows has the two beside each other
};

}  // namespace hoplite::sim
