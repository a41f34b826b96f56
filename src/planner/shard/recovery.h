// Recovery: what nodes repeat of their copies in an inventory (R15). The shard's state is soft, the
// nodes' copies are the truth.
//
// Decides: which copies, and which streams between nodes, the books take over; whose version is the
// current one. Is told: inventories. Must never: take over what the layout or another version
// contradicts, or a stream that would close a circle.
#pragma once

#include <cstdint>
#include <vector>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/books/object_book.h"
#include "planner/books/register_book.h"
#include "planner/books/sweeps.h"
#include "planner/books/tombstones.h"
#include "planner/copies/node_table.h"
#include "planner/shard/directory_state.h"
#include "planner/shard/ownership.h"
#include "planner/shard/post.h"
#include "planner/shard/reduction_requests.h"
#include "planner/shard/versions.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"

namespace hoplite::planner {

class Recovery {
 public:
  // Writes into the objects, the tombstones, the nodes, the sweeps and the registers; takes grants from the stamps. All
  // outlive it.
  Recovery(const DirectoryOptions& options, const ShardClock& clock, Stamps& stamps,
           NodeTable& nodes, ObjectBook& objects, Tombstones& tombstones, Sweeps& sweeps,
           RegisterBook& registers, Post& post, Versions& versions, ReductionRequests& reductions,
           Ownership& ownership)
      : options_(options),
        clock_(clock),
        stamps_(stamps),
        nodes_(nodes),
        objects_(objects),
        tombstones_(tombstones),
        sweeps_(sweeps),
        registers_(registers),
        post_(post),
        versions_(versions),
        reductions_(reductions),
        ownership_(ownership) {}

  void On(NodeId node, const Held& event);
  void On(NodeId node, const HeldBytes& event);
  void On(NodeId node, const InventoryEnd& event);

 private:
  // A copy that somebody could be sent to.
  bool Sound(const Held& event) const;
  // The copy's version is newer than any that is known here.
  void StartNewer(ObjectRecord& record, NodeId node, const Held& event);
  void Vouch(ObjectRecord& record, NodeId node, const Held& event);
  void AdoptUpstreams(ObjectRecord& record, NodeId node, const std::vector<Upstream>& upstreams);
  // False: the node must not be fed by that one.
  bool Adopt(CopyTable& table, NodeId node, const Upstream& from, StripeMask stripes);

  const DirectoryOptions& options_;
  const ShardClock& clock_;
  Stamps& stamps_;
  NodeTable& nodes_;
  ObjectBook& objects_;
  Tombstones& tombstones_;
  Sweeps& sweeps_;
  RegisterBook& registers_;
  Post& post_;
  Versions& versions_;
  ReductionRequests& reductions_;
  Ownership& ownership_;
};

}  // namespace hoplite::planner
