#include "sim/planner_world/allgather.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/layout.h"
#include "base/try.h"
#include "sim/planner_world/bounds.h"
#include "sim/planner_world/report.h"
#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kEventsPerGet = 20'000;

// One machine's wish for one object.
struct Ask {
  NodeIndex machine = 0;
  Time when;
};

// n worlds over the same links. Each shard numbers the machines from 1, its object's producer
// first where the numbering is not alike.
class Allgather {
 public:
  Allgather(const Options& options, Numbering numbering)
      : options_(options),
        numbering_(numbering),
        random_(options.seed),
        start_(Time{} + WarmUp(options)),
        links_(std::make_shared<Network>(
            Layout::For(options.size_bytes, options.stripes),
            static_cast<double>(options.bytes_per_second), options.latency,
            options.noise.of_links() ? Stripes::kInTurns : Stripes::kSideBySide)) {}

  void Write() {
    for (NodeIndex producer = 0; producer < options_.nodes; ++producer) Write(producer);
  }

  void Run(AllgatherReport& report) {
    const std::uint64_t most = kEventsPerGet * options_.nodes * options_.nodes;
    std::vector<Network::Whole> whole;
    for (Time now = NextEvent(); now != kNever; now = NextEvent()) {
      whole.clear();
      links_->Advance(now, whole);
      for (const auto& world : worlds_) world->Turn(now, whole);
      links_->Settle(now);
      if (report.violation = Broken(now); !report.violation.empty()) break;
      if (++report.events <= most) continue;
      report.violation = fmt::format("P9: no rest after {} events", most);
      break;
    }
    Fill(report);
  }

 private:
  void Write(NodeIndex producer) {
    std::vector<Ask> asks;
    for (NodeIndex machine = 0; machine < options_.nodes; ++machine) {
      asks.push_back({machine, start_ + random_.Within(options_.spread)});
    }
    Number(producer, asks);
    const ObjectId object = ObjectId::FromName(fmt::format("object {}", producer));
    World& world = *worlds_.emplace_back(std::make_unique<World>(options_, object, links_));
    for (const auto& [machine, when] : asks) {
      // The first world makes the machines.
      const NodeIndex node = producer == 0 ? world.AddNode() : world.AddNodeAt(machine);
      if (machine == producer) {
        world.At(Time{}, [&world, node] { world.Put(node, kFirstContent); });
      } else {
        world.At(when, [this, &world, machine, node, when] {
          Begin(machine, world, node, when);
          world.Get(node);
        });
      }
    }
  }

  // A machine's first question does not say that it fetches other objects, too.
  void Begin(NodeIndex machine, World& world, NodeIndex node, Time now) {
    auto& fetches = fetches_[machine];
    if (!fetches.empty()) world.SetJoint(node);
    if (fetches.size() == 1) {
      const auto [first, there] = fetches.front();
      first->At(now, [first, there] { first->SetJoint(there); });
    }
    fetches.emplace_back(&world, node);
  }

  // Puts the machines in the order in which this object's shard numbers them.
  void Number(NodeIndex producer, std::vector<Ask>& asks) {
    if (numbering_ == Numbering::kAlike || producer == 0) return;
    std::ranges::swap(asks[0], asks[producer]);
    if (numbering_ == Numbering::kByArrival) {
      std::ranges::sort(asks.begin() + 1, asks.end(), {}, &Ask::when);
      return;
    }
    for (std::size_t i = asks.size() - 1; i > 1; --i) {
      std::swap(asks[i], asks[1 + random_.Below(i)]);
    }
  }

  Time NextEvent() const {
    Time next = links_->next_event();
    for (const auto& world : worlds_) next = std::min(next, world->next_event());
    return next;
  }

  std::string Broken(Time now) const {
    for (const auto& world : worlds_) {
      if (!world->violation().empty()) return world->violation();
    }
    return links_->BrokenInvariant(now);
  }

  void Fill(AllgatherReport& report) const {
    for (const auto& world : worlds_) {
      if (report.violation.empty()) {
        world->CheckAtRest();
        report.violation = world->violation();
      }
      for (const Member& member : world->members()) {
        if (!member.returned) continue;
        ++report.completed;
        report.seconds = std::max(report.seconds, ToSeconds(*member.returned - start_));
      }
    }
    for (NodeIndex node = 0; node < options_.nodes; ++node) {
      report.busiest_up_link =
          std::max(report.busiest_up_link,
                   links_->BytesSentBy(node) / static_cast<double>(options_.size_bytes));
    }
  }

  const Options& options_;
  const Numbering numbering_;
  Random random_;
  const Time start_;
  const std::shared_ptr<Network> links_;
  std::vector<std::unique_ptr<World>> worlds_;
  // What each machine has asked for, and where it is in that world.
  std::map<NodeIndex, std::vector<std::pair<World*, NodeIndex>>> fetches_;
};

Result<void> Validate(const Options& options) {
  TRY(options.Validate());
  const bool faults = options.kills > 0 || !options.kill_at.empty() || options.restarts > 0 ||
                      options.session_breaks > 0 || options.reduce.has_value();
  if (!faults) return {};
  return std::unexpected(Error(ErrorCode::kInvalidArgument,
                               "simulation: an allgather has no faults and is no reduction"));
}

}  // namespace

Result<AllgatherReport> RunAllgather(const Options& options, Numbering numbering) {
  TRY(Validate(options));
  AllgatherReport report;
  const double once =
      static_cast<double>(options.size_bytes) / static_cast<double>(options.bytes_per_second);
  report.bound_seconds = (options.nodes - 1) * once + ToSeconds(options.latency);
  report.replay = fmt::format(
      "hoplite sim allgather --nodes {} --size {} --bandwidth {}bit --latency {}ns --spread {}ns "
      "--seed {}",
      options.nodes, options.size_bytes, options.bytes_per_second * 8, options.latency.count(),
      options.spread.count(), options.seed);
  AddLinks(report.replay, options.links);
  AddNoise(report.replay, options.noise);
  AddWithout(report.replay, options.without);
  if (options.unmeasured) report.replay += " --unmeasured";
  Allgather allgather(options, numbering);
  allgather.Write();
  allgather.Run(report);
  return report;
}

std::string_view AllgatherLegend() {
  return "bound               (nodes - 1) x size / bandwidth + one latency: what each node must "
         "receive\n"
         "busiest up link     how many objects it carried; nodes - 1 where all carry as much\n"
         "gets                that were answered, of nodes x (nodes - 1)\n"
         "events              instants that the simulation went through\n";
}

std::string ToText(const AllgatherReport& report) {
  std::string text = fmt::format(
      "finished after      {:.6f} s, {:.3f} x the bound\n"
      "bound               {:.6f} s\n"
      "busiest up link     {:.3f} objects\n"
      "gets                {}\n"
      "events              {}\n",
      report.seconds, report.ratio(), report.bound_seconds, report.busiest_up_link,
      report.completed, report.events);
  if (!report.violation.empty()) {
    text += fmt::format("BROKEN: {}\nreplay: {}\n", report.violation, report.replay);
  }
  return text;
}

std::string ToJson(const AllgatherReport& report) {
  return fmt::format(
      R"({{"seconds":{},"bound_seconds":{},"ratio":{},"busiest_up_link":{},"completed":{},)"
      R"("events":{},"violation":{},"replay":{}}})",
      report.seconds, report.bound_seconds, report.ratio(), report.busiest_up_link,
      report.completed, report.events, Quoted(report.violation), Quoted(report.replay));
}

}  // namespace hoplite::sim
