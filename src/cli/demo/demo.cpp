#include "cli/demo/demo.h"

#include <cstdlib>

#include <fmt/format.h>

#include <hoplite/client.h>

#include "base/descriptors.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/demo/arrays.h"
#include "cli/demo/broadcast.h"
#include "cli/demo/page.h"
#include "cli/demo/reduction.h"
#include "cli/demo/screen.h"
#include "cli/demo/subject.h"
#include "cli/demo/summary.h"
#include "cli/process_cluster.h"
#include "cli/put_file.h"
#include "cli/stop_signal.h"
#include "cli/timeouts.h"

namespace hoplite::cli::demo {
namespace {

const std::vector<std::string> kNodes{"n1", "n2", "n3", "n4", "n5", "n6"};
constexpr std::size_t kLate = 2;  // arrays that come too late for the last reduction

Result<ProcessCluster> StartCluster(const Subject& subject, bool web, const StopSignal& stop,
                                    Screen& screen) {
  // Nodes log the deaths of peers, which the story of the demo tells already. A level that the user
  // has set stays.
  ::setenv("HOPLITE_LOG", "error", /*replace=*/0);
  TRY_ASSIGN(ProcessCluster cluster,
             ProcessCluster::Start({.memory_bytes = subject.memory_bytes,
                                    .rate_bytes_per_second = subject.rate_bytes_per_second,
                                    .web = web ? "127.0.0.1:0" : ""},
                                   stop));
  TRY(cluster.AddNodes(kNodes));
  screen.Say(
      fmt::format("Started a directory and {} nodes, each a process of its own:", kNodes.size()));
  screen.Say(fmt::format("  directory  pid {:<8} {}", cluster.directory().pid(),
                         cluster.directory_address()));
  for (const auto& node : cluster.nodes()) {
    screen.Say(fmt::format("  {:9}  pid {:<8} {}", node.name, node.process.pid(), node.address));
  }
  if (web) ShowPage(cluster.web_address(), screen);
  return cluster;
}

Result<ObjectId> PutAtFirst(ProcessCluster& cluster, const Subject& subject, Screen& screen) {
  const auto& first = cluster.nodes().front();
  TRY_ASSIGN(Client client, Client::Connect(first.socket));
  const ObjectId object = ObjectId::Random();
  TRY(PutFile(client, {.id = object}, subject.path));
  screen.Say(fmt::format("Put it at {} as {}. Now all others ask for it at once.", first.name,
                         object.ToHex()));
  return object;
}

// The file is deleted first: nodes have no room for both it and the arrays.
Result<void> ReduceAtAll(ProcessCluster& cluster, const Subject& subject, const ObjectId& file,
                         const StopSignal& stop, Screen& screen, std::vector<Reduced>& results) {
  TRY_ASSIGN(Client client, Client::Connect(cluster.nodes().front().socket));
  TRY(client.Delete(file, {.timeout = kAnswerTimeout}));
  TRY_ASSIGN(const Arrays arrays, Arrays::Of(subject, kNodes.size()));
  Reductions reductions(cluster, arrays, subject, screen);
  screen.Say("");
  screen.Say(
      fmt::format("Now the {} living nodes add up arrays of {:.1f} million float32 each ({}, "
                  "S/B {:.2f} s),",
                  reductions.node_count(), static_cast<double>(arrays.length()) / 1e6,
                  FormatSize(arrays.size_bytes()), reductions.bound_seconds()));
  screen.Say("each made of another part of the file: one number for each byte, its value.");
  Result<void> held = reductions.AllReduce(stop);
  if (held) held = reductions.FirstToCome(kLate, stop);
  results = reductions.results();
  return held;
}

}  // namespace

Result<void> RunDemo(const std::string& file, bool web, bool json) {
  // Each receiver is a client.
  const std::size_t processes = kNodes.size() + 1;
  TRY(RequireDescriptors(ProcessCluster::DescriptorsFor(processes) + 8 * processes, "the demo"));
  const StopSignal stop;
  Screen screen(/*quiet=*/json);
  TRY_ASSIGN(const Subject subject, ChooseSubject(file, kNodes.size() + 1));
  screen.Say(
      fmt::format("{}: {}, over links of {} Mbit/s, so that one copy over one link takes {:.1f} s.",
                  subject.path, FormatSize(subject.size_bytes),
                  subject.rate_bytes_per_second / 125'000, subject.bound_seconds()));
  TRY_ASSIGN(ProcessCluster cluster, StartCluster(subject, web, stop, screen));
  TRY_ASSIGN(const ObjectId object, PutAtFirst(cluster, subject, screen));
  Broadcast broadcast(cluster, subject, object, screen);
  TRY(broadcast.Run(stop));
  screen.Show({});
  SaySummary(broadcast, subject, screen);
  Result<void> held = Verdict(broadcast, subject);
  if (held) screen.Say("Every survivor has the same bytes, and so has the latecomer.");
  std::vector<Reduced> reductions;
  if (held) held = ReduceAtAll(cluster, subject, object, stop, screen, reductions);
  if (json) TRY(Print(SummaryDocument(broadcast, subject, reductions)));
  if (held && web) KeepPage(stop, screen);
  return held;
}

}  // namespace hoplite::cli::demo
