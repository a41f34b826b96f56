// Planted faults: each breaks one rule of a node, so that the simulation of whole nodes can show
// that its properties would notice. Only tests choose another value than kNone.
#pragma once

#include <cstdint>

namespace hoplite::node_world {

enum class PlantedFault : std::uint8_t {
  kNone,
  kSkipsRecalls,           // a copy of an older version stays (R4)
  kLosesParkedRequests,    // open requests are not repeated in a new session (R15)
  kForgetsPins,            // what a Get returned does not keep its memory (R27)
  kReusesMemoryBeingSent,  // nor does a stream, once all of a copy is on its way (R2)
  kRepeatsABlockOnResume,  // a resumed stream begins one block too early (R19)
  kFoldsTwice,             // a child's stream resumes at the output's mark (R34)
  kReturnsBeforeCommit,    // a root is final when its last fold is done (R31)
  kHoldsItsTurn,           // one stream at a time, from FETCH to END, bytes or not (R22)
  kKeepsDeletedCopies,     // who did not ask for it does not hear that an object was deleted (R17)
  kKeepsGrantsOpen,        // a grant that failed is not closed (R5)
  kTrustsTheLastByte,      // complete without END (R21)
  kKeepsStoppedReaders,    // of a window (R38)
  kAsksInAnyOrder,         // for the blocks that go through a window (R19)
  kTellsAllAtOnce,         // an inventory, its bytes included, heartbeats behind it (R15)
  kKeepsItsPlace,          // a fetch that gets nothing holds up those in line behind it (R46)
  kQueuesInputs,           // what a reduction depends on waits for a place like the rest (R46)
  kQueuesFeeders,          // and so does what feeds others
  kSpinsForMemory,         // whoever waits for memory asks again at once
  kHoardsMemory,           // a slot keeps memory that it can do without (R45)
  kDropsWhatIsToStay,      // the last copy of an object, as if the shard allowed it (R18, R70)
  kMisreportsFolds,        // whoever asked hears of fewer sources than the shard folded (R32, R82)
  kFirstDecides,           // a shard goes by the id that whoever comes first knows it by (R44)
  kTrustsGives,            // who is to get one waits for it for ever (R83)
  kLeavesDiskIdle,         // nothing is written, whoever waits for memory (R120)
  kForgetsItsState,        // a restarted shard does not read its state file (R44)
};

}  // namespace hoplite::node_world
