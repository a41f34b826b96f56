#include "sim/node_world/run.h"

#include <algorithm>

#include <fmt/format.h>

namespace hoplite::node_world {

std::string ReplayCommand(std::uint64_t seed) {
  return fmt::format("hoplite sim world --seed {} --tell", seed);
}

void Tally::Add(std::uint64_t seed, const Report& report) {
  ++histories;
  steps += report.steps;
  calls += report.calls;
  succeeded += report.succeeded;
  sums += report.sums;
  rings += report.rings;
  forests += report.forests;
  windows += report.windows;
  resumed += report.resumed;
  spilled += report.spilled;
  full += report.waits > 0 ? 1 : 0;
  digest.Add(report.digest);
  most_turns = std::max(most_turns, report.most_turns);
  if (report.violation.empty() || broken_seed) return;
  broken_seed = seed;
  violation = report.violation;
}

std::string_view Legend() {
  return "histories  each from an empty cluster to an empty cluster\n"
         "steps      turns of a node's or a shard's loop\n"
         "calls      of clients (Put, Get, Reduce, …); done: answered without an error\n"
         "rings      reductions of which each stripe has a root of its own, at least at first\n"
         "forests    objects whose groups of stripes were sent along trees of their own\n"
         "windows    parts of memory through which objects larger than the store are read\n"
         "resumed    went on from another source where the first had stopped\n"
         "spilled    written to a node's disk, since memory was wanted\n"
         "full       a call waited for memory at some node\n";
}

std::string Tally::ToString() const {
  std::string text = fmt::format(
      "{} histories, {} steps: {} calls, {} done, {} of them reductions ({} by rings), {} forests, "
      "{} reads through windows; {} fetches resumed; {} with full stores, {} objects spilled, at "
      "most {} turns of a "
      "node "
      "within a second",
      histories, steps, calls, succeeded, sums, rings, forests, windows, resumed, full, spilled,
      most_turns);
  if (broken_seed) {
    text += fmt::format("\nBROKEN: {}\nreplay: {}", violation, ReplayCommand(*broken_seed));
  }
  return text;
}

Tally RunSeeds(std::uint64_t first, std::uint64_t count) {
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count && !tally.broken_seed; ++seed) {
    tally.Add(seed, World(Draw(seed)).Run());
  }
  return tally;
}

}  // namespace hoplite::node_world
