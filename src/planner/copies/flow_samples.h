// FlowSamples: how fast bytes come to the receivers of one object from their present sources, by what
// they report.
//
// Decides: when enough has come to know a rate. Is told: each report, with the table as it is then.
// Must never: divide by a time that another clock than the receiver's own measured, since reports are
// late; take the time that connecting took for a slow link, nor bytes of the stream before for those
// of this one. A receiver that gets from several sources outside a forest is not sampled. A value type.
//
//   reports   |    .   .   .   .   |   .   .   .   .   .   |     two windows, one after the other: a burst
//             begins               window                  window     or a pause is in one of them
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copies/copy_table.h"
#include "planner/copies/trials.h"

namespace hoplite::planner {

class FlowSamples {
 public:
  // Bytes per second in two windows, one after the other.
  struct Rate {
    double least = 0;   // so much came for sure; 0: not known yet
    double most = 0;    // and no more than that; 0: not known yet
    bool held = false;  // all the while its source had bytes for it
    // Of the streams of its source, the same in both: how many, and the newest.
    std::pair<std::size_t, GrantId> beside;
    Time middle;  // by the shard's clock: where the second window begins, and where it ends
    Time ended;
  };

  // How much a receiver had, when, by its own clock.
  struct Mark {
    Time told;
    std::uint64_t had = 0;  // blocks
  };

  // The receiver's marks in the table are news, which it had at this time of its own clock (none: it
  // does not tell), and are heard now. True: RateOf has a new answer.
  bool Note(NodeId receiver, const CopyTable& table, Time told, Time now);
  // Sources may be compared once more: true once in so long.
  bool IsDue(Duration interval, Time now);
  // Through the grant that feeds the receiver now.
  Rate RateOf(NodeId receiver, const CopyTable& table) const;
  // What it has of the stream that feeds it now, as it told last; nothing: no bytes came yet.
  std::optional<Mark> MarkOf(NodeId receiver, const CopyTable& table) const;

  Trials trials;
  // The last pass found nobody, after many looks: until then reports alone make no other.
  Time in_vain_until{};

 private:
  // What has come to a receiver since some moment.
  struct Window {
    Time since;
    std::uint64_t had = 0;    // blocks
    std::uint64_t ready = 0;  // the least number of blocks that its source had more than it
    std::pair<std::size_t, GrantId> beside;
    Time heard;          // by the shard's clock
    bool steady = true;  // no other ones, since then
  };
  struct Sample {
    GrantId grant;
    bool flowing = false;
    Mark last;
    Window whole;  // since its bytes began to come
    Window window;
    Rate before;  // in the window before: only `most` counts, none if that was not alike
    Rate rate;
  };

  static void Close(Sample& sample, double bytes_per_second, bool had_bytes, Time now);

  std::map<NodeId, Sample> samples_;
  Time was_due_{};
};

// Whoever feeds the first of its stripes; null if nobody does. Of several groups: who feeds all that
// it gets; of several sources each may be the one that others wait for, but in a forest, where what
// all of them have ready tells who holds up whom.
const Feed* FeedOf(const Copy* copy, const CopyTable& table);
// So many blocks of the object.
double BytesIn(std::uint64_t blocks, const CopyTable& table);
// Of its streams to receivers: how many, and the newest.
std::pair<std::size_t, GrantId> StreamsOf(NodeId source, const CopyTable& table);
// One that it feeds; leaves hold nobody up and are not moved. kNoNode: none.
NodeId FirstBehind(NodeId source, const CopyTable& table);
// The stripes by which a receiver and its source are compared.
StripeMask Compared(const Feed& feed, const CopyTable& table);

}  // namespace hoplite::planner
