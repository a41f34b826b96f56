#include "cli/demo/summary.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/tree.h"

namespace hoplite::cli::demo {
namespace {

std::vector<std::string> SourcesOf(const Broadcast& broadcast, const std::string& node) {
  const auto found = broadcast.history().sources().find(node);
  return found == broadcast.history().sources().end() ? std::vector<std::string>{} : found->second;
}

bool Killed(const Broadcast& broadcast, const Receiver& receiver) {
  return receiver.node() == broadcast.kill().node;
}

std::string OutcomeText(const Broadcast& broadcast, const Subject& subject,
                        const Receiver& receiver) {
  if (Killed(broadcast, receiver)) {
    return fmt::format("killed at {:.1f} s with {}", broadcast.kill().seconds,
                       FormatSize(broadcast.kill().had_bytes));
  }
  const auto& result = receiver.result();
  if (!result) return result.error().ToString();
  return fmt::format(
      "{:6.2f} s  {:4.2f} x S/B  {}{}", result->seconds, result->seconds / subject.bound_seconds(),
      result->hash == subject.hash ? "hash equal" : "HASH DIFFERS",
      receiver.node() == broadcast.latecomer()
          ? fmt::format(", joined at {:.1f} s", broadcast.seconds_at(receiver.started()))
          : "");
}

// The last source of each survivor: the tree that finished the work.
std::vector<std::string> FinalTree(const Broadcast& broadcast) {
  std::map<std::string, std::string> fed_by;
  for (const auto& [node, sources] : broadcast.history().sources()) {
    if (node != broadcast.kill().node) fed_by[node] = sources.back();
  }
  return DrawTree(fed_by, {}, {});
}

}  // namespace

Result<void> Verdict(const Broadcast& broadcast, const Subject& subject) {
  if (broadcast.kill().node.empty()) {
    return std::unexpected(Error(ErrorCode::kInternal, "no node was caught in the middle to kill"));
  }
  if (broadcast.latecomer().empty()) {
    return std::unexpected(Error(ErrorCode::kInternal, "the end came before the latecomer"));
  }
  for (const Receiver& receiver : broadcast.receivers()) {
    if (Killed(broadcast, receiver)) continue;
    const auto& result = receiver.result();
    if (!result) return std::unexpected(result.error());
    if (result->hash != subject.hash) {
      return std::unexpected(
          Error(ErrorCode::kDataLoss, fmt::format("{} received other bytes", receiver.node())));
    }
  }
  return {};
}

void SaySummary(const Broadcast& broadcast, const Subject& subject, Screen& screen) {
  screen.Say("");
  screen.Say(fmt::format("S/B, one copy over one link: {:.2f} s. XXH3 of the file: {}",
                         subject.bound_seconds(), subject.hash));
  for (const Receiver& receiver : broadcast.receivers()) {
    screen.Say(
        fmt::format("  {:4} from {:16} {}", receiver.node(),
                    fmt::format("{}", fmt::join(SourcesOf(broadcast, receiver.node()), ", then ")),
                    OutcomeText(broadcast, subject, receiver)));
  }
  screen.Say("The tree that finished the work:");
  for (const std::string& line : FinalTree(broadcast)) screen.Say("  " + line);
}

Json SummaryDocument(const Broadcast& broadcast, const Subject& subject,
                     const std::vector<Reduced>& reductions) {
  Json document = {{"file", subject.path},
                   {"size", subject.size_bytes},
                   {"rate_bytes_per_second", subject.rate_bytes_per_second},
                   {"bound_seconds", subject.bound_seconds()},
                   {"hash", subject.hash},
                   {"killed", broadcast.kill().node},
                   {"killed_seconds", broadcast.kill().seconds},
                   {"latecomer", broadcast.latecomer()},
                   {"receivers", Json::array()},
                   {"rerouted", Json::array()},
                   {"reductions", Json::array()}};
  for (const Receiver& receiver : broadcast.receivers()) {
    Json entry = {{"node", receiver.node()}, {"sources", SourcesOf(broadcast, receiver.node())}};
    if (const auto& result = receiver.result()) {
      entry["seconds"] = result->seconds;
      entry["ratio"] = result->seconds / subject.bound_seconds();
      entry["hash"] = result->hash;
    } else {
      entry["error"] = result.error().ToString();
    }
    document["receivers"].push_back(entry);
  }
  for (const Rerouted& change : broadcast.rerouted()) {
    document["rerouted"].push_back({{"node", change.node},
                                    {"before", change.before},
                                    {"now", change.now},
                                    {"at_bytes", change.at_bytes}});
  }
  for (const Reduced& reduced : reductions) {
    Json slots = Json::array();
    for (const SlotInfo& slot : reduced.slots) {
      slots.push_back({{"slot", slot.slot},
                       {"parent", slot.parent},
                       {"parents", slot.parents},
                       {"stripes", slot.stripes},
                       {"node", slot.node}});
    }
    document["reductions"].push_back({{"used", reduced.used},
                                      {"unused", reduced.unused},
                                      {"everyone_reads", reduced.asked.everyone_reads},
                                      {"tree", std::move(slots)},
                                      {"seconds", reduced.seconds},
                                      {"equal", reduced.equal}});
  }
  return document;
}

}  // namespace hoplite::cli::demo
