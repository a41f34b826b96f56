// Books: all that one shard knows. Each book is a value type that keeps its own data to itself and
// says in its header what it is told; copying the books copies the shard's state.
//
// DirectoryState owns them. A part that decides something is given those that it needs, and no
// others; views, invariants and the fingerprint read all of them.
#pragma once

#include "base/time.h"
#include "planner/agenda.h"
#include "planner/deletion_marks.h"
#include "planner/directory_state.h"
#include "planner/inline_budget.h"
#include "planner/node_table.h"
#include "planner/object_book.h"
#include "planner/outbox.h"
#include "planner/recovery_window.h"
#include "planner/shard_clock.h"
#include "planner/source_selector.h"
#include "planner/stamps.h"
#include "planner/sweeps.h"

namespace hoplite::planner {

struct Books {
  Books(const DirectoryOptions& options_in, Time start)
      : options(options_in),
        clock(start),
        window(start, options.recovery_window, options.recovery_limit),
        stamps(options.incarnation),
        nodes(options.link),
        inlined(options.inline_limit_bytes, options.inline_total_bytes) {}

  DirectoryOptions options;
  ShardClock clock;
  RecoveryWindow window;
  Stamps stamps;
  NodeTable nodes;
  ObjectBook objects;
  InlineBudget inlined;
  DeletionMarks marks;
  KeepApart apart;  // receivers and sources
  Sweeps sweeps;
  Agenda agenda;
  Outbox outbox;
};

}  // namespace hoplite::planner
