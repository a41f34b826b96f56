// Report: what one simulated broadcast or reduction did, beside the closed forms that it is
// measured by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hoplite::sim {

// One of the broadcasts of a history, by its slowest receiver.
struct Round {
  double slowest_get_seconds = 0;
  double stretch = 0;
  std::uint32_t completed = 0;
  std::uint64_t moves = 0;
  std::uint64_t trials = 0;
  double most_shown = 0;  // of what links carry: what the directory was shown of one
};

struct Report {
  double seconds = 0;              // from the start until the last survivor had the object
  double fast_seconds = 0;         // the same of those whose links are not slow
  double slowest_get_seconds = 0;  // the longest that one receiver waited, from its own arrival
  double stretch = 0;              // the same as a multiple of what its own links allow
  double bound_seconds = 0;        // S/B + one latency: nothing can be faster
  double line_seconds = 0;         // one line through all nodes
  double best_tree_seconds = 0;    // the best tree of whole objects
  std::uint32_t best_tree_degree = 0;
  std::uint32_t depth = 0;      // longest chain of nodes that pulled from each other
  std::uint64_t events = 0;     // that the world processed
  std::uint64_t digest = 0;     // of all words with their times: equal for equal histories
  std::uint32_t degree = 0;     // of the reduce tree
  std::uint32_t roots = 0;      // that make the target, each some of its stripes
  bool committed = false;       // the reduction's target is final
  std::uint32_t completed = 0;  // receivers that got the object
  std::uint32_t deleted = 0;    // receivers that were told it was deleted
  std::uint32_t died = 0;
  std::uint64_t moves = 0;             // of receivers, to another source than they had
  std::uint64_t trials = 0;            // the same, to find out what a link carries
  std::vector<Round> rounds;           // of a broadcast; `moves` and `trials` are their sums
  std::uint64_t bytes_sent_again = 0;  // received before, lost with a stream
  std::string violation;               // empty, or the first broken property in words: "P2: …"
  std::string replay;                  // the command that runs this history again

  double ratio() const { return bound_seconds > 0 ? seconds / bound_seconds : 0; }
};

// What the lines of the reports for people mean.
std::string_view Legend();
std::string_view ReductionLegend();
// A few lines for people.
std::string ToText(const Report& report);
std::string ReductionToText(const Report& report);
// A string of JSON.
std::string Quoted(std::string_view text);
// One JSON document with the keys seconds, bound_seconds, ratio, depth, events and more.
std::string ToJson(const Report& report);

}  // namespace hoplite::sim
