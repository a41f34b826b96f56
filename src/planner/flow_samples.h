// FlowSamples: how fast bytes come to the receivers of one object from their present sources, by what
// they report.
//
// Decides: when enough time has passed to know a rate. Is told: each report, with the table as it is
// then. Must never: take the time that connecting took for a slow link, nor bytes of the stream
// before for those of this one. A receiver that gets from several sources outside a forest is not
// sampled. A value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copy_table.h"

namespace hoplite::planner {

class FlowSamples {
 public:
  struct Rate {
    double bytes_per_second = 0;  // 0: not known yet
    double last = 0;              // in the last tenth alone; the rest is said of that, too
    bool ready = false;           // its source had bytes for it all the while
    bool steady = false;          // it sent to the same receivers, and the stream did not grow
  };

  // The receiver's marks in the table are news. True: RateOf has a new answer.
  bool Note(NodeId receiver, const CopyTable& table, Time now);
  // Sources may be compared once more: true once in so long.
  bool IsDue(Duration interval, Time now);
  // Through the grant that feeds the receiver now: in the better one of the last two tenths of a second
  // or so.
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
    // Of the streams of its source: how many, and the newest.
    std::pair<std::size_t, GrantId> beside;
    bool steady = true;  // no other ones, since then
    double last = 0;     // bytes per second in the tenth of a second before, if that was so, too
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
