// LinkLearning: what the rates at which bytes come to receivers show of the links that they
// took.
//
// Decides: what a link was shown to carry, and whose link it was that limited a stream. Is told: the
// table, and the samples of its receivers. Must never: show a link more than it carried, in any two
// windows; blame a link where the source had nothing to send, or was not shown to have more to spare.
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copies/copy_table.h"
#include "planner/copies/flow_samples.h"
#include "planner/copies/node_table.h"

namespace hoplite::planner {

class LinkLearning {
 public:
  // `joint`: bytes of other objects go over the same links.
  LinkLearning(const CopyTable& table, const FlowSamples& samples, bool joint)
      : table_(table), samples_(samples), joint_(joint) {}

  // The receiver, to which so many bytes per second come of all objects, has a new sample. Answers
  // what its own link seems to carry; 0: its source had no more for it, or others shared that.
  double Learn(NodeId receiver, double in_all, Time now, NodeTable& nodes) const;

 private:
  // Of one source.
  struct Streams {
    double least = 0;            // bytes per second of all of them, for sure
    double others = 0;           // that come at most to the others
    bool known = true;           // each in two windows with the same receivers beside it
    bool all_could_more = true;  // each receiver was shown to take much more than it gets
    std::size_t count = 0;
  };
  Streams StreamsBeside(NodeId receiver, NodeId source, const NodeTable& nodes) const;
  // Its own link, or all of its source's, was the limit.
  double Limit(NodeId receiver, NodeId source, Time now, NodeTable& nodes) const;

  const CopyTable& table_;
  const FlowSamples& samples_;
  bool joint_;
};

}  // namespace hoplite::planner
