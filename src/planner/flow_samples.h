// FlowSamples: how fast bytes come to the receivers of one object from their present sources, by what
// they report.
//
// Decides: when enough time has passed to know a rate. Is told: each report, with the table as it is
// then. Must never: take the time that connecting took for a slow link, nor bytes of the stream
// before for those of this one. A receiver that gets from several sources outside a forest is not
// sampled. A value type.
#pragma once

#include <cstdint>
#include <map>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copy_table.h"

namespace hoplite::planner {

class FlowSamples {
 public:
  struct Rate {
    double bytes_per_second = 0;  // 0: not known yet
    bool ready = false;           // its source had bytes for it all the while
  };

  // The receiver's marks in the table are news. True: RateOf has a new answer.
  bool Note(NodeId receiver, const CopyTable& table, Time now);
  // Sources may be compared once more: true once in so long.
  bool IsDue(Duration interval, Time now);
  // Over the last 100 ms or so that are known, through the grant that feeds the receiver now.
  Rate RateOf(NodeId receiver, const CopyTable& table) const;

  // The last pass found nobody, after many looks: until then reports alone make no other.
  Time in_vain_until{};

 private:
  // What has come to a receiver since some moment, through one grant.
  struct Sample {
    GrantId grant;
    Time since;
    std::uint64_t had = 0;    // blocks
    std::uint64_t ready = 0;  // the least number of blocks that its source had more than it
    bool flowing = false;
    Rate rate;
  };

  std::map<NodeId, Sample> samples_;
  Time was_due_{};
};

// Whoever feeds the first of its stripes; null if nobody does. Of several groups: who feeds all that
// it gets; of several sources each may be the one that others wait for, but in a forest, where what
// all of them have ready tells who holds up whom.
const Feed* FeedOf(const Copy* copy, const CopyTable& table);
// The stripes by which a receiver and its source are compared.
StripeMask Compared(const Feed& feed, const CopyTable& table);

}  // namespace hoplite::planner
