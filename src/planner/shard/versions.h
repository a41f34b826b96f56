// Versions: how a version of an object begins, and how its copies, and what the directory itself
// keeps of it, end.
//
// Decides: what of an object is void then, and who hears of it. Is told: that it happened, by those
// who decided that it does. Must never: keep a copy, or bytes or metadata in the directory, of an
// older version.
#pragma once

#include <string>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/layout.h"
#include "planner/books/agenda.h"
#include "planner/books/ended_reductions.h"
#include "planner/books/inline_budget.h"
#include "planner/books/object_record.h"
#include "planner/copies/node_table.h"
#include "planner/copies/stripe_groups.h"
#include "planner/shard/post.h"

namespace hoplite::planner {

class Versions {
 public:
  // Writes into the agenda, the budget and the ends of reductions, reads the nodes' names; all
  // outlive it.
  Versions(Agenda& agenda, InlineBudget& inlined, EndedReductions& ended, const NodeTable& nodes,
           Post& post)
      : agenda_(agenda), inlined_(inlined), ended_(ended), nodes_(nodes), post_(post) {}

  // The version is current from now on: older copies are void, their nodes told. `groups`: how its
  // stripes are cut, and who makes which.
  void Start(const ObjectId& id, ObjectRecord& record, Version version, const Layout& layout,
             const std::string& metadata, StripeGroups groups);
  // All stripes are one group; `origin` makes it, if it is known who does.
  void Start(const ObjectId& id, ObjectRecord& record, Version version, const Layout& layout,
             const std::string& metadata, NodeId origin) {
    Start(id, record, version, layout, metadata, StripeGroups(origin));
  }
  // The node made it, or is making it: a holder that stays. `order`: of its request.
  static void AddMaker(ObjectRecord& record, NodeId node, bool complete, std::uint64_t order);
  // The object's bytes lie in the directory now, if there is room: whether they do.
  bool KeepBytes(ObjectRecord& record, const InlineBytes& bytes) {
    return inlined_.Keep(record, bytes);
  }
  // Whether a version with this metadata may begin, and its bytes be kept.
  bool HasRoomFor(const ObjectRecord& record, const std::string& metadata,
                  std::uint64_t bytes) const {
    return inlined_.HasRoomFor(record, metadata, bytes);
  }
  // Neither bytes nor metadata of the object lie in the directory any more.
  void DropKept(ObjectRecord& record) { inlined_.Drop(record); }
  // Empty, or why no version with this metadata may begin.
  std::string WhyNoRoom(const ObjectId& id, const ObjectRecord& record,
                        const std::string& metadata) const;
  // The copy is no more: whoever pulled from it is served first; waiters hear of a last holder.
  void DropCopy(const ObjectId& id, ObjectRecord& record, NodeId node);

 private:
  Agenda& agenda_;
  InlineBudget& inlined_;
  EndedReductions& ended_;
  const NodeTable& nodes_;
  Post& post_;
};

}  // namespace hoplite::planner
