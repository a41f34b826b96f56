#include "cli/demo/reduction.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/time.h"
#include "base/try.h"
#include "cli/timeouts.h"
#include "cli/tree.h"

namespace hoplite::cli::demo {
namespace {

constexpr Duration kLateness = std::chrono::milliseconds(500);

double SecondsSince(Time start) { return ToSeconds(Now() - start); }

}  // namespace

Reductions::Reductions(ProcessCluster& cluster, const Arrays& arrays, double bound_seconds,
                       Screen& screen)
    : arrays_(arrays), bound_seconds_(bound_seconds), screen_(screen) {
  for (const ProcessCluster::Node& node : cluster.nodes()) {
    if (node.process.running()) nodes_.push_back(&node);
  }
}

Result<void> Reductions::Run(std::size_t wanted, std::size_t late, const StopSignal& stop) {
  std::vector<ObjectId> ids(nodes_.size());
  std::ranges::generate(ids, ObjectId::Random);
  for (std::size_t node = 0; node + late < nodes_.size(); ++node) TRY(Put(node, ids[node]));
  screen_.Say("");
  screen_.Say(fmt::format("{} asks for the sum of {} {}.", nodes_.front()->name,
                          late == 0 ? "all" : fmt::format("the first {} of", wanted),
                          nodes_.size()));
  TRY_ASSIGN(Client client, Client::Connect(nodes_.front()->socket));
  const Time start = Now();
  TRY_ASSIGN(const Reduction reduction,
             client.Reduce({.sources = ids, .num_objects = wanted, .timeout = kAnswerTimeout}));
  Reduced reduced;
  TRY_ASSIGN(reduced.tree, Follow(client, reduction, ids, late, stop));
  TRY_ASSIGN(const ReduceOutcome outcome, reduction.Wait());
  reduced.seconds = SecondsSince(start);
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const bool taken = std::ranges::find(outcome.used, ids[node]) != outcome.used.end();
    (taken ? reduced.used : reduced.unused).push_back(nodes_[node]->name);
  }
  TRY_ASSIGN(reduced.equal, IsPlainSum(client, outcome, ids));
  Say(reduced);
  results_.push_back(std::move(reduced));
  for (const ObjectId& id : ids) TRY(client.Delete(id, {.timeout = kAnswerTimeout}));
  TRY(client.Delete(outcome.target, {.timeout = kAnswerTimeout}));
  if (outcome.used.size() != wanted || !results_.back().equal) {
    return std::unexpected(Error(ErrorCode::kDataLoss, "the target is not the sum that was asked"));
  }
  return {};
}

Result<void> Reductions::Put(std::size_t node, const ObjectId& id) const {
  TRY_ASSIGN(Client client, Client::Connect(nodes_[node]->socket));
  const std::vector<float> array = arrays_.At(node);
  TRY(client.Put(std::as_bytes(std::span(array)), {.id = id, .timeout = kAnswerTimeout}));
  return {};
}

Result<std::vector<SlotInfo>> Reductions::Follow(Client& client, const Reduction& reduction,
                                                 const std::vector<ObjectId>& ids, std::size_t late,
                                                 const StopSignal& stop) const {
  const Time start = Now();
  std::vector<SlotInfo> tree;
  std::size_t put = ids.size() - late;
  while (!reduction.ready()) {
    if (stop.WaitFor(kLook)) {
      return std::unexpected(Error(ErrorCode::kCancelled, "stopped before the end"));
    }
    if (put < ids.size() && Now() - start > kLateness) {
      screen_.Say(fmt::format("{:5.1f} s  {} come with theirs, too late", SecondsSince(start),
                              NamesFrom(put)));
      for (; put < ids.size(); ++put) TRY(Put(put, ids[put]));
    }
    const auto target = client.Info(reduction.target(), {.timeout = kAnswerTimeout});
    if (!target || target->slots.empty()) continue;  // not planned yet, or done
    tree = target->slots;
    screen_.Show(DrawReduction(tree, arrays_.size_bytes()));
  }
  screen_.Show({});
  return tree;
}

Result<bool> Reductions::IsPlainSum(Client& client, const ReduceOutcome& outcome,
                                    const std::vector<ObjectId>& ids) const {
  TRY_ASSIGN(const Buffer target, client.Get(outcome.target, {.timeout = kAnswerTimeout}));
  std::vector<std::size_t> used;
  for (const ObjectId& id : outcome.used) {
    used.push_back(static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin()));
  }
  const std::vector<float> sum = arrays_.SumOf(used);
  return target.size() == arrays_.size_bytes() &&
         std::memcmp(target.bytes().data(), sum.data(), target.size()) == 0;
}

std::string Reductions::NamesFrom(std::size_t first) const {
  std::vector<std::string> names;
  for (std::size_t node = first; node < nodes_.size(); ++node) names.push_back(nodes_[node]->name);
  return fmt::format("{}", fmt::join(names, " and "));
}

void Reductions::Say(const Reduced& reduced) const {
  screen_.Say("The tree, each slot with the node that folds there, and what it had last:");
  for (const std::string& line : DrawReduction(reduced.tree, arrays_.size_bytes())) {
    screen_.Say("  " + line);
  }
  screen_.Say(fmt::format(
      "{:5.2f} s, {:4.2f} x S/B: the sum of {}{}; {} the plain sum, number by number.",
      reduced.seconds, reduced.seconds / bound_seconds_,
      fmt::format("{}", fmt::join(reduced.used, ", ")),
      reduced.unused.empty() ? "" : fmt::format(", without {}", fmt::join(reduced.unused, ", ")),
      reduced.equal ? "equal to" : "DIFFERENT FROM"));
}

}  // namespace hoplite::cli::demo
