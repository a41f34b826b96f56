// Passes: one planning pass over an object, made and told.
//
// Decides: whether a pass is due, how long the first one over a version waits for receivers that
// come together, and those of a version that very many may ask for, when one is to be
// made again without any event, when receivers look for better sources, and when very many
// who found none look again. Is told: which object something happened to. Must never: choose a source
// itself: SourceSelector decides who serves whom, Forest in which groups, SlowRelays who is passed;
// wait for newcomers while somebody has lost its source.
#pragma once

#include <hoplite/object_id.h>

#include "planner/books/agenda.h"
#include "planner/books/object_record.h"
#include "planner/books/recovery_window.h"
#include "planner/copies/node_table.h"
#include "planner/serving/source_selector.h"
#include "planner/shard/directory_state.h"
#include "planner/shard/post.h"
#include "planner/words/expiring.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"

namespace hoplite::planner {

class Passes {
 public:
  // Writes into the nodes, the agenda and what gathers, takes grants from the stamps, reads the others; all
  // outlive it.
  Passes(const DirectoryOptions& options, const ShardClock& clock, const RecoveryWindow& window,
         NodeTable& nodes, const KeepApart& apart, Stamps& stamps, Agenda& agenda,
         Expiring<ObjectId>& gathering, Post& post)
      : options_(options),
        clock_(clock),
        window_(window),
        nodes_(nodes),
        apart_(apart),
        stamps_(stamps),
        agenda_(agenda),
        gathering_(gathering),
        post_(post) {}

  void Run(const ObjectId& id, ObjectRecord& record);

 private:
  bool Gathers(const ObjectId& id, ObjectRecord& record, bool many);
  bool RatesCount(const ObjectRecord& record) const;
  bool ImprovesNow(ObjectRecord& record, bool rests) const;
  bool ManyMayCome(const ObjectRecord& record) const;
  bool AllHaveAsked(const ObjectRecord& record) const;
  LinkModel LinkFor(const ObjectRecord& record) const;

  const DirectoryOptions& options_;
  const ShardClock& clock_;
  const RecoveryWindow& window_;
  NodeTable& nodes_;
  const KeepApart& apart_;
  Stamps& stamps_;
  Agenda& agenda_;
  Expiring<ObjectId>& gathering_;
  Post& post_;
};

}  // namespace hoplite::planner
