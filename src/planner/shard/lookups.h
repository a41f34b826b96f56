// Lookups: who hears what an object is and where it lies.
//
// Decides: when a request for an object is answered, and with what; which of those who ask for bytes
// of the directory get them from it, which from each other, and which from a holder (R83);
// whether it counts as a Want (R63). Is told: Locates and subscriptions. Must never: answer with an
// object whose bytes nobody has, list whoever asked without room for it as a holder, or leave a
// question to a Give for good (R83).
#pragma once

#include <span>
#include <vector>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "planner/books/inline_pace.h"
#include "planner/books/object_book.h"
#include "planner/books/owner_book.h"
#include "planner/copies/node_table.h"
#include "planner/shard/directory_state.h"
#include "planner/shard/post.h"
#include "planner/shard/transfers.h"
#include "planner/shard/versions.h"
#include "planner/words/expiring.h"
#include "planner/words/shard_clock.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class Lookups {
 public:
  // Writes into the nodes, the objects and the pace, reads the others; all outlive it.
  Lookups(const DirectoryOptions& options, const ShardClock& clock, NodeTable& nodes,
          ObjectBook& objects, InlinePace& inline_pace, Expiring<ObjectId>& giving,
          const OwnerBook& owners, Post& post, Versions& versions, Transfers& transfers)
      : options_(options),
        clock_(clock),
        nodes_(nodes),
        objects_(objects),
        inline_pace_(inline_pace),
        giving_(giving),
        owners_(owners),
        post_(post),
        versions_(versions),
        transfers_(transfers) {}

  void On(NodeId node, const Locate& event);
  void On(NodeId node, const CancelLocate& event);
  void On(NodeId node, const Subscribe& event);
  void On(NodeId node, const Unsubscribe& event);
  // Answers the Locates of the object once it exists.
  void ResolveLocates(const ObjectId& id, ObjectRecord& record);
  // Whoever relies on an owner hears that there is none (R59).
  void AnswerUnowned(const ObjectId& id, ObjectRecord& record);

 private:
  // Those to whom no bytes of this version are on their way, and those who waited in vain.
  struct Asked {
    std::vector<Asking> first;
    std::vector<Asking> in_vain;
  };
  Asked AskedOf(const ObjectRecord& record) const;
  // The bytes are the directory's: to all who ask, or to the first of them and from there to the
  // others, or as soon as the link carries them.
  void Give(const ObjectId& id, ObjectRecord& record);
  bool Gathers(const ObjectRecord& record) const;
  Time LinkIsFree(const ObjectRecord& record) const;
  void GiveTo(NodeId node, const ObjectId& id, ObjectRecord& record,
              std::vector<Onward> onward = {});
  // The first of them: at most so many, all of one site.
  std::span<const Asking> OfOneSite(std::span<const Asking> askers, std::size_t most) const;
  // One of each site gets the list of the others there.
  void GiveTogether(std::span<const Asking> askers, const ObjectId& id, ObjectRecord& record);
  bool LeavesFromHolder(std::span<const Asking> askers, const ObjectRecord& record) const;
  // To those of its own site.
  void LetHolderGive(std::span<const Asking> askers, const ObjectId& id, ObjectRecord& record);
  // Whatever was measured: a short burst says little of how fast a link carries many objects.
  LinkModel SlowLink() const;
  // How long so many wait for bytes that come from others.
  Duration Patience(const ObjectRecord& record, std::size_t together) const;
  // The question stays open: a Give is on its way, or it gathers with others.
  void Await(Asking one, ObjectRecord& record, Duration patience, bool given);
  // Of all these; the answer: a Give's list of them.
  std::vector<Onward> AwaitAll(std::span<const Asking> askers, ObjectRecord& record,
                               Duration patience);
  // When to look again at what of the object remains unanswered.
  void AwaitGives(const ObjectId& id, const ObjectRecord& record);
  void AnswerWhere(const ObjectId& id, ObjectRecord& record);

  const DirectoryOptions& options_;
  const ShardClock& clock_;
  NodeTable& nodes_;
  ObjectBook& objects_;
  InlinePace& inline_pace_;
  Expiring<ObjectId>& giving_;
  const OwnerBook& owners_;
  Post& post_;
  Versions& versions_;
  Transfers& transfers_;
};

}  // namespace hoplite::planner
