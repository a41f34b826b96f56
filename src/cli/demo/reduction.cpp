#include "cli/demo/reduction.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/time.h"
#include "base/try.h"
#include "cli/ring.h"
#include "cli/timeouts.h"
#include "cli/tree.h"

namespace hoplite::cli::demo {
namespace {

constexpr Duration kTooLate = std::chrono::milliseconds(500);

double SecondsSince(Time start) { return ToSeconds(Now() - start); }

}  // namespace

Reductions::Reductions(ProcessCluster& cluster, const Arrays& arrays, const Subject& subject,
                       Screen& screen)
    : arrays_(arrays),
      bound_seconds_(static_cast<double>(arrays.size_bytes()) /
                     static_cast<double>(subject.rate_bytes_per_second)),
      screen_(screen) {
  for (const ProcessCluster::Node& node : cluster.nodes()) {
    if (node.process.running()) nodes_.push_back(&node);
  }
}

Result<void> Reductions::AllReduce(const StopSignal& stop) {
  return Run({.wanted = nodes_.size(), .everyone_reads = true}, stop);
}

Result<void> Reductions::FirstToCome(std::size_t late, const StopSignal& stop) {
  return Run({.wanted = nodes_.size() - late, .late = late}, stop);
}

Result<void> Reductions::Run(const Asked& asked, const StopSignal& stop) {
  std::vector<ObjectId> ids(nodes_.size());
  std::ranges::generate(ids, ObjectId::Random);
  for (std::size_t node = 0; node + asked.late < nodes_.size(); ++node) TRY(Put(node, ids[node]));
  SayWhatIsAsked(asked);
  TRY_ASSIGN(Client client, Client::Connect(nodes_.front()->socket));
  const Time start = Now();
  TRY_ASSIGN(const Reduction reduction, client.Reduce({.sources = ids,
                                                       .dtype = DType::kFloat32,
                                                       .num_objects = asked.wanted,
                                                       .everyone_reads = asked.everyone_reads,
                                                       .timeout = kAnswerTimeout}));
  TRY_ASSIGN(const std::vector<Reader> readers, StartReaders(asked, reduction.target()));
  TRY_ASSIGN(std::vector<SlotInfo> slots, Follow(client, reduction, ids, asked, stop));
  TRY_ASSIGN(const ReduceOutcome outcome, reduction.Wait());
  TRY_ASSIGN(std::vector<Buffer> targets, TargetsOf(readers));
  Reduced reduced{.asked = asked, .slots = std::move(slots)};
  reduced.seconds = SecondsSince(start);
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const bool taken = std::ranges::find(outcome.used, ids[node]) != outcome.used.end();
    (taken ? reduced.used : reduced.unused).push_back(nodes_[node]->name);
  }
  reduced.equal = std::ranges::all_of(
      targets, [&](const Buffer& target) { return IsPlainSum(target, outcome, ids); });
  Say(reduced);
  results_.push_back(std::move(reduced));
  targets.clear();  // else their memory would not come back
  ids.push_back(outcome.target);
  for (const ObjectId& id : ids) TRY(client.Delete(id, {.timeout = kAnswerTimeout}));
  if (outcome.used.size() != asked.wanted || !results_.back().equal) {
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

Result<std::vector<Reductions::Reader>> Reductions::StartReaders(const Asked& asked,
                                                                 const ObjectId& target) const {
  std::vector<Reader> readers;
  for (const ProcessCluster::Node* node : nodes_) {
    TRY_ASSIGN(Client client, Client::Connect(node->socket));
    Future<Buffer> future = client.GetAsync(target, {.timeout = kAnswerTimeout});
    readers.push_back({std::move(client), std::move(future)});
    if (!asked.everyone_reads) break;
  }
  return readers;
}

Result<std::vector<Buffer>> Reductions::TargetsOf(const std::vector<Reader>& readers) {
  std::vector<Buffer> targets;
  for (const Reader& reader : readers) {
    TRY_ASSIGN(Buffer target, reader.target.Wait());
    targets.push_back(std::move(target));
  }
  return targets;
}

Result<std::vector<SlotInfo>> Reductions::Follow(Client& client, const Reduction& reduction,
                                                 const std::vector<ObjectId>& ids,
                                                 const Asked& asked, const StopSignal& stop) const {
  const Time start = Now();
  std::vector<SlotInfo> slots;
  std::size_t put = ids.size() - asked.late;
  while (!reduction.ready()) {
    if (stop.WaitFor(kLook)) {
      return std::unexpected(Error(ErrorCode::kCancelled, "stopped before the end"));
    }
    if (put < ids.size() && Now() - start > kTooLate) {
      screen_.Say(fmt::format("{:5.1f} s  {} come with theirs, too late", SecondsSince(start),
                              NamesFrom(put)));
      for (; put < ids.size(); ++put) TRY(Put(put, ids[put]));
    }
    const auto target = client.Info(reduction.target(), {.timeout = kAnswerTimeout});
    if (!target || target->slots.empty()) continue;  // not planned yet, or done
    slots = target->slots;
    screen_.Show(DrawReduction(slots, arrays_.size_bytes()));
  }
  screen_.Show({});
  return slots;
}

bool Reductions::IsPlainSum(const Buffer& target, const ReduceOutcome& outcome,
                            const std::vector<ObjectId>& ids) const {
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

void Reductions::SayWhatIsAsked(const Asked& asked) const {
  screen_.Say("");
  const std::string& asker = nodes_.front()->name;
  if (!asked.everyone_reads) {
    return screen_.Say(fmt::format("{} asks for the sum of the first {} of {}.", asker,
                                   asked.wanted, nodes_.size()));
  }
  screen_.Say(fmt::format(
      "{0} asks for the sum of all {1}, which all of them read: an allreduce. They form a ring:\n"
      "the sum's stripes go from one to the next, and each adds its own array. One that has been\n"
      "all round is made. So each makes a share of them, and these then go round to everybody.",
      asker, nodes_.size()));
}

void Reductions::SayPlan(const std::string& title, const std::vector<SlotInfo>& slots) const {
  screen_.Say(title);
  for (const std::string& line : DrawReduction(slots, arrays_.size_bytes())) {
    screen_.Say("  " + line);
  }
}

void Reductions::Say(const Reduced& reduced) const {
  SayPlan(IsRing(reduced.slots)
              ? "At the last look:"
              : "The tree, each slot with the node that folds there, at the last look:",
          reduced.slots);
  screen_.Say(fmt::format(
      "{:5.2f} s, {:4.2f} x S/B: the sum of {}{}.", reduced.seconds,
      reduced.seconds / bound_seconds_, fmt::join(reduced.used, ", "),
      reduced.unused.empty() ? "" : fmt::format(", without {}", fmt::join(reduced.unused, ", "))));
  screen_.Say(fmt::format("  {} the plain sum, number by number{}.",
                          reduced.equal ? "Equal to" : "DIFFERENT FROM",
                          reduced.asked.everyone_reads ? ", at every node" : ""));
}

}  // namespace hoplite::cli::demo
