// LinkLearning: what the rate at which bytes come to a receiver says of the links that they took
// (R104).
//
// Decides: whose link it was that limited the stream. Is told: the table, and the samples of its
// receivers. Must never: blame a link where the source had nothing to send.
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copy_table.h"
#include "planner/flow_samples.h"
#include "planner/node_table.h"

namespace hoplite::planner {

class LinkLearning {
 public:
  // `joint`: bytes of other objects go over the same links.
  LinkLearning(const CopyTable& table, const FlowSamples& samples, bool joint)
      : table_(table), samples_(samples), joint_(joint) {}

  // The receiver, to which so many bytes per second come of all objects, has a new sample. Answers
  // what its own link was seen to carry; 0: another one was the limit.
  double Learn(NodeId receiver, double in_all, Time now, NodeTable& nodes) const;

 private:
  struct Stream {
    double rate = 0;  // 0: not known
    bool steady = false;
    bool explained = false;  // by what the receiver's own link is known to carry
  };
  Stream StreamTo(NodeId receiver, const NodeTable& nodes) const;
  // To all receivers of that source.
  std::vector<Stream> StreamsOf(NodeId source, const NodeTable& nodes) const;

  const CopyTable& table_;
  const FlowSamples& samples_;
  bool joint_;
};

}  // namespace hoplite::planner
