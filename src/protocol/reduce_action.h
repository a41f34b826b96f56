// What a directory shard answers about reductions; see reduce_event.h for the words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "protocol/link_model.h"
#include "protocol/node_event.h"
#include "protocol/node_info.h"
#include "protocol/reduce_event.h"

namespace hoplite::protocol {

// --- to the coordinator

struct ReduceOpened {
  ObjectId object;
  std::uint64_t request = 0;
  LinkModel link;  // as measured
};
// It is not, or no longer, the target of this reduction: it exists, was deleted, …
struct ReduceRefused {
  ObjectId object;
  std::uint64_t request = 0;
  ErrorCode code = ErrorCode::kAlreadyExists;
  std::string message;
};
// The slot has to be assigned again (or vacated): its node or its source is lost.
struct SlotLost {
  ObjectId object;
  std::uint64_t request = 0;
  std::uint64_t attempt = 0;  // which of the coordinator's assignments this is about
  std::uint32_t slot = 0;
  ErrorCode code = ErrorCode::kPeerLost;
  std::string message;
  // Not kNoNode: this one could not connect to the slot's node, which lives (R68); and a member that
  // perhaps reaches both, kNoNode if there is none.
  NodeId receiver = kNoNode;
  NodeId third = kNoNode;
};

// --- to the coordinator and the root

// This version, made of these sources, is final.
struct ReduceCommitted {
  ObjectId object;
  Version version;
  std::uint64_t request = 0;  // the coordinator's
  std::vector<ObjectId> used;
  // The shard made it (R82): the coordinator has a complete copy of it, like one that it put. Null
  // if others made it, or it is not there any more.
  InlineBytes bytes;
  std::string metadata;  // of the target, with the bytes
};

// --- to participants

// Execute this; an older version of the slot is void.
struct SlotAssigned {
  ObjectId object;
  Version version;
  SlotOrder order;
  Layout layout;
  Fold fold;
  std::string metadata;
};
// Pull the output of this child, in these stripes, from there.
struct SlotFeed {
  ObjectId object;
  std::uint32_t slot = 0;
  Version version;
  std::uint32_t input = 0;
  Version input_version;
  StripeMask stripes = 0;
  NodeInfo source;
};
// Let go of this slot up to this version: it is not needed any more. A committed root stays.
struct SlotDropped {
  ObjectId object;
  std::uint32_t slot = 0;
  Version version;
};

// --- to those who wait for the target, or have a part of it

// The reduction that was to make it failed: what they have of it, up to this version, is void. Also
// the answer to whoever asks for it later, for a while, unless another attempt at it began (R69).
struct TargetAborted {
  ObjectId object;
  Version version;  // none: there was none yet
  ErrorCode code = ErrorCode::kCancelled;
  std::string message;
  std::uint64_t question = 0;  // number of the Locate that this answers; 0: of none
};

}  // namespace hoplite::protocol
