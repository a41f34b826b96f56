#include "sim/planner_world/report.h"

#include <fmt/format.h>

namespace hoplite::sim {
namespace {

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

std::string Broken(const Report& report) {
  if (report.violation.empty()) return {};
  return fmt::format("BROKEN: {}\nreplay: {}\n", report.violation, report.replay);
}

}  // namespace

std::string ToText(const Report& report) {
  std::string text = fmt::format(
      "finished after      {:.6f} s, {:.3f} x the bound\n"
      "bound               {:.6f} s\n"
      "line                {:.6f} s\n"
      "best tree           {:.6f} s with degree {}\n"
      "without slow links  {:.6f} s\n"
      "slowest receiver    {:.6f} s\n"
      "depth               {}\n"
      "receivers           {} completed, {} told deleted, {} died\n"
      "bytes sent again    {}\n"
      "events              {}\n",
      report.seconds, report.ratio(), report.bound_seconds, report.line_seconds,
      report.best_tree_seconds, report.best_tree_degree, report.fast_seconds,
      report.slowest_get_seconds, report.depth, report.completed, report.deleted, report.died,
      report.bytes_sent_again, report.events);
  return text + Broken(report);
}

std::string ReductionToText(const Report& report) {
  return fmt::format(
             "finished after      {:.6f} s, {:.3f} x the bound\n"
             "bound               {:.6f} s\n"
             "closed form         {:.6f} s, of the reduction alone\n"
             "tree                degree {}, depth {}\n"
             "target              {}\n"
             "nodes               {} got it, {} died\n"
             "bytes sent again    {}\n"
             "events              {}\n",
             report.seconds, report.ratio(), report.bound_seconds, report.best_tree_seconds,
             report.degree, report.depth, report.committed ? "committed" : "not made",
             report.completed, report.died, report.bytes_sent_again, report.events) +
         Broken(report);
}

std::string ToJson(const Report& report) {
  return fmt::format(
      R"({{"seconds":{},"bound_seconds":{},"ratio":{},"depth":{},"events":{},)"
      R"("line_seconds":{},"best_tree_seconds":{},"best_tree_degree":{},"fast_seconds":{},"slowest_get_seconds":{},)"
      R"("degree":{},"committed":{},"completed":{},"deleted":{},"died":{},"bytes_sent_again":{},"digest":"{:016x}","violation":{},"replay":{}}})",
      report.seconds, report.bound_seconds, report.ratio(), report.depth, report.events,
      report.line_seconds, report.best_tree_seconds, report.best_tree_degree, report.fast_seconds,
      report.slowest_get_seconds, report.degree, report.committed, report.completed, report.deleted,
      report.died, report.bytes_sent_again, report.digest, Quoted(report.violation),
      Quoted(report.replay));
}

}  // namespace hoplite::sim
