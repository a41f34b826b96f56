#include "cli/demo/broadcast.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/progress_bar.h"
#include "cli/timeouts.h"
#include "cli/tree.h"

namespace hoplite::cli::demo {
namespace {

// Shares of the object. The victim has at least the first; one that feeds nobody, the second. The
// slowest survivor has at least the third when another node joins.
constexpr double kKillFrom = 0.35;
constexpr double kKillAnyFrom = 0.60;
constexpr double kLatecomerFrom = 0.50;

}  // namespace

Broadcast::Broadcast(ProcessCluster& cluster, const Subject& subject, const ObjectId& object,
                     Screen& screen)
    : cluster_(cluster),
      subject_(subject),
      object_(object),
      screen_(screen),
      producer_(cluster.nodes().front().name) {}

Result<void> Broadcast::Run(const StopSignal& stop) {
  start_ = next_line_ = Now();
  deadline_ = start_ + FromSeconds(10 * subject_.bound_seconds() + 30);
  for (const ProcessCluster::Node& node : cluster_.nodes()) {
    if (node.name != producer_) TRY(StartReceiver(node));
  }
  while (!finished()) {
    if (stop.WaitFor(kLook)) {
      return std::unexpected(Error(ErrorCode::kCancelled, "stopped before the end"));
    }
    if (Now() > deadline_) {
      return std::unexpected(Error(ErrorCode::kTimeout, "the broadcast did not come to an end"));
    }
    TRY(LookAndAct());
  }
  return {};
}

Result<void> Broadcast::StartReceiver(const ProcessCluster::Node& node) {
  TRY_ASSIGN(Receiver receiver, Receiver::Start(node.name, node.socket, object_));
  receivers_.push_back(std::move(receiver));
  return {};
}

Result<void> Broadcast::LookAndAct() {
  TRY_ASSIGN(Client client, Client::Connect(cluster_.nodes().front().socket));
  TRY_ASSIGN(const ClusterStatus status, client.Status({.timeout = kAnswerTimeout}));
  Picture picture = Picture::Of(status, object_);
  picture.fed_by.erase(kill_.node);  // the directory plans for it until it is given up
  Tell(picture);
  Show(picture);
  last_ = picture;
  MaybeKill(picture);
  return MaybeAddLatecomer(picture);
}

void Broadcast::Tell(const Picture& picture) {
  const std::vector<Rerouted> changes = history_.Add(picture);
  for (const Rerouted& change : changes) {
    const bool healed = change.before == kill_.node;
    screen_.Say(fmt::format("{:5.1f} s  {} was fed by {}{}, now pulls from {}: goes on at {} of {}",
                            now(), change.node, change.before, healed ? " (dead)" : "", change.now,
                            FormatSize(change.at_bytes), FormatSize(subject_.size_bytes)));
    rerouted_.push_back(change);
  }
  // A receiver that is done has no source any more, which alone is not worth a line.
  const bool grew = std::ranges::any_of(
      picture.fed_by, [this](const auto& edge) { return !last_.fed_by.contains(edge.first); });
  if (screen_.live() || (!grew && changes.empty())) return;
  for (const std::string& line : Tree(picture)) screen_.Say("         " + line);
}

void Broadcast::Show(const Picture& picture) {
  if (screen_.live()) {
    std::vector<std::string> lines = Bars(picture);
    lines.emplace_back();
    std::ranges::copy(Tree(picture), std::back_inserter(lines));
    screen_.Show(lines);
    return;
  }
  const Time time = Now();
  if (time < next_line_) return;
  next_line_ = time + std::chrono::seconds(1);
  std::vector<std::string> parts;
  for (const Receiver& receiver : receivers_) {
    const std::string& node = receiver.node();
    parts.push_back(node == kill_.node
                        ? node + " dead"
                        : fmt::format("{} {:.0f} %", node, 100 * ShareOf(node, picture)));
  }
  screen_.Say(fmt::format("{:5.1f} s  {}", now(), fmt::join(parts, ", ")));
}

double Broadcast::ShareOf(const std::string& node, const Picture& picture) const {
  return static_cast<double>(picture.bytes_of(node)) / static_cast<double>(subject_.size_bytes);
}

int Broadcast::Suitability(const std::string& node, const Picture& picture) const {
  const double share = ShareOf(node, picture);
  const auto source = picture.fed_by.find(node);
  if (source == picture.fed_by.end() || share < kKillFrom || share > 0.95) return 0;
  if (picture.relays(node)) return source->second == producer_ ? 2 : 3;
  return share > kKillAnyFrom ? 1 : 0;
}

void Broadcast::MaybeKill(const Picture& picture) {
  if (!kill_.node.empty()) return;
  const auto victim = std::ranges::max_element(
      cluster_.nodes(), {}, [&](const auto& node) { return Suitability(node.name, picture); });
  if (Suitability(victim->name, picture) == 0) return;
  kill_ = {victim->name, now(), picture.bytes_of(victim->name), {}};
  for (const auto& [node, source] : picture.fed_by) {
    if (source == victim->name) kill_.orphans.push_back(node);
  }
  victim->process.Kill();
  screen_.Say(fmt::format(
      "{:5.1f} s  kill -9 {}, which has {:.0f} % and feeds {}", now(), victim->name,
      100 * ShareOf(victim->name, picture),
      kill_.orphans.empty() ? "nobody" : fmt::format("{}", fmt::join(kill_.orphans, ", "))));
}

Result<void> Broadcast::MaybeAddLatecomer(const Picture& picture) {
  if (kill_.node.empty() || !latecomer_.empty()) return {};
  for (const Receiver& receiver : receivers_) {
    if (receiver.node() == kill_.node) continue;
    if (ShareOf(receiver.node(), picture) < kLatecomerFrom) return {};
  }
  latecomer_ = fmt::format("n{}", cluster_.nodes().size() + 1);
  TRY(cluster_.AddNodes({latecomer_}));
  screen_.Say(fmt::format("{:5.1f} s  {} joins and asks for the file", now(), latecomer_));
  return StartReceiver(cluster_.nodes().back());
}

bool Broadcast::finished() const { return std::ranges::all_of(receivers_, &Receiver::finished); }

std::vector<std::string> Broadcast::Tree(const Picture& picture) const {
  std::map<std::string, std::string> notes{{kill_.node, "dead"}};
  for (const auto& [node, source] : picture.fed_by) {
    notes[node] = fmt::format("{:.0f} %", 100 * ShareOf(node, picture));
  }
  return DrawTree(picture.fed_by, {producer_}, notes);
}

std::vector<std::string> Broadcast::Bars(const Picture& picture) const {
  std::vector<std::string> lines;
  for (const Receiver& receiver : receivers_) {
    const std::string& node = receiver.node();
    const auto source = picture.fed_by.find(node);
    std::string state = receiver.finished() ? "done" : "waits";
    if (source != picture.fed_by.end()) state = "from " + source->second;
    if (node == kill_.node) state = "killed";
    const std::uint64_t done = node == kill_.node ? kill_.had_bytes : picture.bytes_of(node);
    lines.push_back(fmt::format("  {}  {}  {}", node, Bar(done, subject_.size_bytes, 40), state));
  }
  return lines;
}

}  // namespace hoplite::cli::demo
