// What one planning pass over an object is told, besides the table of copies.
#pragma once

#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copies/flow_samples.h"
#include "planner/copies/node_table.h"
#include "planner/words/expiring.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// (receiver, source)
using KeepApart = Expiring<std::pair<NodeId, NodeId>>;

// What is known of how fast links are; and how long a receiver keeps a source.
struct Measured {
  const NodeTable& nodes;
  FlowSamples& samples;
  Duration keeps;
};

struct PassRules {
  Time now;
  const LinkModel& link;
  const KeepApart& apart;
  bool knows_members = false;                        // not collecting, no inventory under way
  std::pair<NodeId, NodeId> kept{kNoNode, kNoNode};  // nobody but this one may be behind that one
  Duration fresh{0};       // so long after its grant a receiver hands on its place
  bool takes_over = true;  // whoever has more takes the source of a receiver that has less
  std::optional<Measured> unequal = std::nullopt;  // links or sites differ, so rates count
};

}  // namespace hoplite::planner
