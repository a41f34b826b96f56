// Where links or sites differ: each receiver goes to the holder that gives it most, and moves when
// another one gives it much more.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>

#include "planner/copies/dependents.h"
#include "planner/serving/source_selector.h"

namespace hoplite::planner {

// Site by site, from that of a holder on: a line enters each site once.
std::vector<NodeId> SourceSelector::FasterFirst() const {
  std::vector<ParkedKey> keys(table_.parked(sources_.group()).begin(),
                              table_.parked(sources_.group()).end());
  std::map<std::uint32_t, double> first;  // of each site, the turn of its fastest
  for (const ParkedKey& key : keys) {
    double& turn = first.try_emplace(rates_->SiteOf(key.node), 0.0).first->second;
    turn = std::min(turn, rates_->Turn(key.node));
  }
  std::ranges::sort(keys, {}, [&](const ParkedKey& key) {
    const std::uint32_t site = rates_->SiteOf(key.node);
    return std::tuple(key.waits, !rates_->IsAtHome(key.node), first[site], site,
                      rates_->Turn(key.node), key);
  });
  std::vector<NodeId> receivers;
  for (const ParkedKey& key : keys) receivers.push_back(key.node);
  return receivers;
}

SourceSelector::Served SourceSelector::ServeByRate(NodeId receiver) {
  const Copy& copy = *table_.Find(receiver);
  const StripeMask need = copy.parked() & sources_.stripes();
  const GrantId replaces = copy.superseded(need);
  std::optional<Choice> choice = FindWidest(receiver, need);
  if (!choice && !IsFedWithin(receiver))
    choice = sources_.Find(receiver, need, sources_.one_more_receiver());
  if (!choice) return Served::kUnsuitable;
  Grant(receiver, *choice, replaces);
  rates_->Serve(choice->source, receiver);
  return Served::kYes;
}

std::optional<SourceSelector::Choice> SourceSelector::FindWidest(NodeId receiver, StripeMask need,
                                                                 bool shown) const {
  auto offers = rates_->OffersTo(receiver, table_.sources(sources_.group()), IsFedWithin(receiver));
  sources_.NoteLooks(offers.size());
  // The best come first, since to find out who may serve takes longer.
  std::ranges::make_heap(offers, std::greater());
  Dependents dependents(table_, receiver, need);
  for (; !offers.empty(); offers.pop_back()) {
    std::ranges::pop_heap(offers, std::greater());
    const NodeId source = offers.back().second;
    if (dependents.Include(source) || !sources_.HasRoom(source, need)) continue;
    if (shown && !rates_->HasShown(source)) continue;
    if (MayFeed(receiver, source, need)) return Choice{source, need};
  }
  return std::nullopt;
}

bool SourceSelector::IsFedWithin(NodeId receiver) const {
  return rates_->IsFedWithin(receiver, [&](NodeId holder) {
    return !rules_.apart.Contains({receiver, holder}, rules_.now);
  });
}

bool SourceSelector::MayFeed(NodeId receiver, NodeId source, StripeMask need) const {
  if (sources_.MayServe(receiver, source, need) == need) return true;
  // Whoever waited in vain does not wait again soon.
  if (rules_.now < place(receiver).waits_from) return false;
  const StripeMarks& has = table_.Find(receiver)->marks;
  const StripeMarks& from = table_.Find(source)->marks;
  std::uint64_t lead = 0;  // blocks
  for (const std::uint32_t stripe : StripesOf(need)) {
    lead += has[stripe] - std::min(has[stripe], from[stripe]);
  }
  return rates_->CatchesUp(source, lead * table_.layout().block_bytes, receiver) &&
         sources_.Eligible(receiver, source, need, Ahead::kSoon) == need;
}

void SourceSelector::Improve() {
  sources_.TurnTo(0);
  // What was granted since they were computed feeds others, too.
  if (!decisions_.empty()) {
    rates_.emplace(table_, rules_.unequal->nodes, rules_.unequal->samples, rules_.now);
  }
  std::vector<NodeId> fed;
  for (const ProgressKey& key : table_.feeding(sources_.group())) fed.push_back(key.node);
  std::ranges::sort(fed, {}, [&](NodeId node) {
    return std::tuple(rates_->HopsOf(node), rates_->Turn(node), node);
  });
  for (const NodeId receiver : fed) ImproveOne(receiver);
}

bool SourceSelector::MayLeave(NodeId receiver, const OpenGrant& open) const {
  const Copy& copy = *table_.Find(receiver);
  if (open.leaf || open.stripes != copy.fed()) return false;
  if (copy.superseded()) return false;  // it has not heard of the last move
  return rules_.now - open.since >= rules_.unequal->keeps;
}

void SourceSelector::ImproveOne(NodeId receiver) {
  const OpenGrant* open = FirstGrant(receiver);
  if (open == nullptr || !MayLeave(receiver, *open)) return;
  Trials& trials = rules_.unequal->samples.trials;
  if (trials.IsTried(receiver, FirstGrantId(receiver))) return EndTrial(receiver, *open);
  if (!trials.Keeps(receiver, rules_.now) && GiveWay(receiver, *open)) return;
  const bool comes_in =
      rates_->SiteOf(receiver) != rates_->SiteOf(open->source) && IsFedWithin(receiver);
  if (!comes_in && trials.Stays(receiver, rules_.now)) return;
  if (!comes_in && !rates_->MayBeWorthAMove(receiver)) return;
  const std::optional<Choice> better = FindWidest(receiver, open->stripes, !comes_in);
  const NodeId former = open->source;
  if (!better || better->source == former) return;
  if (!comes_in && !rates_->IsWorthAMove(receiver, better->source)) return;
  const double seen = rates_->SeenAt(receiver);
  if (!Move(receiver, *better, MoveReason::kFaster)) return;
  rates_->Serve(better->source, receiver);
  if (!comes_in && seen > 0) trials.Begin(receiver, FirstGrantId(receiver), former, seen);
}

bool SourceSelector::GiveWay(NodeId receiver, const OpenGrant& open) {
  const StripeMask need = open.stripes;
  for (const NodeId behind : rates_->GivesWayTo(receiver)) {
    if (!sources_.HasRoom(behind, need) || !MayFeed(receiver, behind, need)) continue;
    if (!Move(receiver, {behind, need}, MoveReason::kSlow)) continue;
    rates_->Serve(behind, receiver);
    rules_.unequal->samples.trials.Stay(receiver, rules_.now + Trials::kShort);
    return true;
  }
  return false;
}

void SourceSelector::EndTrial(NodeId receiver, const OpenGrant& open) {
  Trials& trials = rules_.unequal->samples.trials;
  const double gets = rates_->SeenAt(receiver);
  const Duration patience = Trials::kShort + kMessagesUntilSeen * rules_.link.latency;
  if (gets == 0 && rules_.now - open.since < patience) return;
  const NodeId former = trials.End(receiver, gets, rules_.now);
  if (former == kNoNode) return;
  const bool back = GoBack(receiver, former, open.stripes);
  trials.Stay(receiver, rules_.now + (back ? Trials::kLong : Trials::kShort));
}

bool SourceSelector::GoBack(NodeId receiver, NodeId former, StripeMask need) {
  if (table_.Find(former) == nullptr || !sources_.HasRoom(former, need)) return false;
  Dependents dependents(table_, receiver, need);
  if (dependents.Include(former) || !MayFeed(receiver, former, need)) return false;
  if (!Move(receiver, {former, need}, MoveReason::kFaster)) return false;
  rates_->Serve(former, receiver);
  return true;
}

}  // namespace hoplite::planner
