#include "sim/planner_world/report.h"

#include <fmt/format.h>

namespace hoplite::sim {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

namespace {

std::string Broken(const Report& report) {
  if (report.violation.empty()) return {};
  return fmt::format("BROKEN: {}\nreplay: {}\n", report.violation, report.replay);
}

std::string RoundsToText(const std::vector<Round>& rounds) {
  std::string text;
  for (std::size_t i = 0; i < rounds.size() && rounds.size() > 1; ++i) {
    text += fmt::format(
        "{:<19} {:.6f} s; {:.3f} x what its own links allow; {} served, {} moves, {} of "
        "trials\n",
        fmt::format("round {}", i + 1), rounds[i].slowest_get_seconds, rounds[i].stretch,
        rounds[i].completed, rounds[i].moves, rounds[i].trials);
  }
  return text;
}

std::string RoundsToJson(const std::vector<Round>& rounds) {
  std::string json;
  for (const Round& round : rounds) {
    json += fmt::format(
        R"({}{{"slowest_get_seconds":{},"stretch":{},"completed":{},"moves":{},"trials":{}}})",
        json.empty() ? "" : ",", round.slowest_get_seconds, round.stretch, round.completed,
        round.moves, round.trials);
  }
  return '[' + json + ']';
}

}  // namespace

std::string_view Legend() {
  return "bound               size / bandwidth + one latency: nothing can be faster\n"
         "line                computed: each node passes blocks on to one other\n"
         "best tree           computed: each node passes blocks on to so many others (the degree)\n"
         "without slow links  when the last receiver had the object whose links are not slow\n"
         "slowest receiver    the longest that one receiver waited, from its own request on\n"
         "                    and, of each, as a multiple of what its own links allow\n"
         "round               with --rounds: the slowest receiver of each\n"
         "depth               the longest chain of nodes that pulled from each other\n"
         "moves               grants of another source in place of the one that a receiver had;\n"
         "                    of trials: to find out what a link carries\n"
         "bytes sent again    they had arrived and were lost with a stream\n"
         "events              that the simulation went through\n";
}

std::string_view ReductionLegend() {
  return "bound               what one link must carry / bandwidth + latency: nothing can be "
         "faster\n"
         "closed form         computed from the tree's degree: the sum alone, without Gets\n"
         "plan                its degree is the most children of a slot; its depth, for an\n"
         "                    allreduce, includes the chain of nodes that got the sum; a tree has\n"
         "                    one root, a plan by stripes several\n"
         "target              committed: the sum is final\n"
         "bytes sent again    they had arrived and were lost with a stream\n"
         "events              that the simulation went through\n";
}

std::string ToText(const Report& report) {
  std::string text = fmt::format(
      "finished after      {:.6f} s, {:.3f} x the bound\n"
      "bound               {:.6f} s\n"
      "line                {:.6f} s\n"
      "best tree           {:.6f} s with degree {}\n"
      "without slow links  {:.6f} s\n"
      "slowest receiver    {:.6f} s; {:.3f} x what its own links allow\n"
      "{}"
      "depth               {}\n"
      "receivers           {} completed, {} told deleted, {} died\n"
      "moves               {}, {} of trials\n"
      "bytes sent again    {}\n"
      "events              {}\n",
      report.seconds, report.ratio(), report.bound_seconds, report.line_seconds,
      report.best_tree_seconds, report.best_tree_degree, report.fast_seconds,
      report.slowest_get_seconds, report.stretch, RoundsToText(report.rounds), report.depth,
      report.completed, report.deleted, report.died, report.moves, report.trials,
      report.bytes_sent_again, report.events);
  return text + Broken(report);
}

std::string ReductionToText(const Report& report) {
  return fmt::format(
             "finished after      {:.6f} s, {:.3f} x the bound\n"
             "bound               {:.6f} s\n"
             "closed form         {:.6f} s, of the reduction alone\n"
             "plan                {} {}, degree {}, depth {}\n"
             "target              {}\n"
             "nodes               {} got it, {} died\n"
             "bytes sent again    {}\n"
             "events              {}\n",
             report.seconds, report.ratio(), report.bound_seconds, report.best_tree_seconds,
             report.roots, report.roots == 1 ? "root" : "roots", report.degree, report.depth,
             report.committed ? "committed" : "not made", report.completed, report.died,
             report.bytes_sent_again, report.events) +
         Broken(report);
}

std::string ToJson(const Report& report) {
  return fmt::format(
      R"({{"seconds":{},"bound_seconds":{},"ratio":{},"depth":{},"events":{},)"
      R"("line_seconds":{},"best_tree_seconds":{},"best_tree_degree":{},"fast_seconds":{},"slowest_get_seconds":{},"stretch":{},)"
      R"("degree":{},"roots":{},"committed":{},"completed":{},"deleted":{},"died":{},"moves":{},"trials":{},"rounds":{},"bytes_sent_again":{},"digest":"{:016x}","violation":{},"replay":{}}})",
      report.seconds, report.bound_seconds, report.ratio(), report.depth, report.events,
      report.line_seconds, report.best_tree_seconds, report.best_tree_degree, report.fast_seconds,
      report.slowest_get_seconds, report.stretch, report.degree, report.roots, report.committed,
      report.completed, report.deleted, report.died, report.moves, report.trials,
      RoundsToJson(report.rounds), report.bytes_sent_again, report.digest, Quoted(report.violation),
      Quoted(report.replay));
}

}  // namespace hoplite::sim
