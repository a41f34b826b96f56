// ShardFolds: reductions of sources whose bytes this shard keeps (R82).
//
// Decides: whether they can be folded here; which of them count, the first of those named that are
// there. Is told: what a coordinator asks for. Must never: fold more in a step than ShardFold allows,
// make a target that is not kept, or refuse anything: what can't be folded here goes another way,
// on which it is found out what is wrong, if anything is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>

#include "planner/books/inline_pace.h"
#include "planner/books/object_book.h"
#include "planner/copies/node_table.h"
#include "planner/shard/ownership.h"
#include "planner/shard/post.h"
#include "planner/shard/versions.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"

namespace hoplite::planner {

class ShardFolds {
 public:
  // Reads the objects and the nodes, takes versions from the stamps, tells the pace what leaves. All
  // outlive it.
  ShardFolds(const ShardClock& clock, Stamps& stamps, const NodeTable& nodes,
             const ObjectBook& objects, InlinePace& inline_pace, Post& post, Versions& versions,
             Ownership& ownership)
      : clock_(clock),
        stamps_(stamps),
        nodes_(nodes),
        objects_(objects),
        inline_pace_(inline_pace),
        post_(post),
        versions_(versions),
        ownership_(ownership) {}

  // Folds, and commits the object's open reduction, if that can be done here: whether it is.
  bool Make(const ObjectId& id, ObjectRecord& record, const ShardFold& what);
  // Of a reduction that is committed: its coordinator hears it, with the bytes if they are there, and
  // is a holder then.
  void Tell(const ObjectId& id, ObjectRecord& record);
  // Bytes that were folded since this was asked last.
  std::uint64_t TakeFolded() { return std::exchange(folded_bytes_, 0); }

 private:
  struct Source {
    ObjectId id;
    const ObjectRecord* record = nullptr;
  };

  // Those that count; nothing if they can't be folded here. `dtype` becomes theirs, if it is 0.
  std::vector<Source> SourcesOf(const ShardFold& what, DType& dtype) const;
  InlineBytes Folded(const std::vector<Source>& sources, const Fold& fold);
  void Commit(const ObjectId& id, ObjectRecord& record, const std::string& metadata,
              const InlineBytes& bytes);

  const ShardClock& clock_;
  Stamps& stamps_;
  const NodeTable& nodes_;
  const ObjectBook& objects_;
  InlinePace& inline_pace_;
  Post& post_;
  Versions& versions_;
  Ownership& ownership_;
  std::uint64_t folded_bytes_ = 0;
};

}  // namespace hoplite::planner
