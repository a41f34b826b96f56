// Creation: which Put of an object counts (R1-R4, R47).
//
// Decides: whose Create becomes the next version, who waits for that decision, who is refused. Is
// told: Creates, and those that are taken back. Must never: let two Puts make one version, or
// accept one while a copy of another may still come back.
#pragma once

#include <string>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/ids.h"
#include "planner/books/object_book.h"
#include "planner/books/recovery_window.h"
#include "planner/books/tombstones.h"
#include "planner/shard/directory_state.h"
#include "planner/shard/ownership.h"
#include "planner/shard/post.h"
#include "planner/shard/reduction_orders.h"
#include "planner/shard/versions.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"

namespace hoplite::planner {

class Creation {
 public:
  // Writes into the objects, and into the window what has to wait; takes versions from the stamps;
  // reads the others. All outlive it.
  Creation(const DirectoryOptions& options, const ShardClock& clock, RecoveryWindow& window,
           Stamps& stamps, ObjectBook& objects, const Tombstones& tombstones, Post& post,
           Versions& versions, ReductionOrders& orders, Ownership& ownership)
      : options_(options),
        clock_(clock),
        window_(window),
        stamps_(stamps),
        objects_(objects),
        tombstones_(tombstones),
        post_(post),
        versions_(versions),
        orders_(orders),
        ownership_(ownership) {}

  void On(NodeId node, const Create& event);
  void On(NodeId node, const Withdraw& event);
  // Answers the Creates of the object, as far as they can be answered.
  void ResolveCreates(const ObjectId& id, ObjectRecord& record);

 private:
  void Accept(const ObjectId& id, ObjectRecord& record, const PendingCreate& create);
  void Confirm(const ObjectId& id, ObjectRecord& record, const PendingCreate& create);
  void TakeBack(const ObjectId& id, ObjectRecord& record);
  void Refuse(const ObjectId& id, NodeId node, ErrorCode code, std::string message);

  const DirectoryOptions& options_;
  const ShardClock& clock_;
  RecoveryWindow& window_;
  Stamps& stamps_;
  ObjectBook& objects_;
  const Tombstones& tombstones_;
  Post& post_;
  Versions& versions_;
  ReductionOrders& orders_;
  Ownership& ownership_;
};

}  // namespace hoplite::planner
