// How links are shared: max-min fairness within each connected component of links that a change
// touched. In a plain broadcast a component is one up link and the down links of its receivers.
#include <algorithm>
#include <cmath>

#include "sim/planner_world/network.h"

namespace hoplite::sim {

void Network::Settle(Time now) {
  ++pass_;
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    if (link_pass_[touched_[i]] != pass_) SettleComponent(now, touched_[i]);
  }
  for (const LinkId link : touched_) is_touched_[link] = false;
  touched_.clear();
}

void Network::SettleComponent(Time now, LinkId start) {
  component_links_.clear();
  component_flows_.clear();
  Collect(now, start);
  if (noise_) {
    SettleNoise(now);
    HoldBack(now);
  }
  ShareLinks();
  for (std::size_t i = 0; i < component_flows_.size(); ++i) {
    Apply(now, component_flows_[i], new_rates_[i]);
  }
  if (noise_) LookAgain(now);
}

// All links and flows that a change at `start` can influence. A flow that has nothing to send and
// had nothing before joins no links, nor does one that takes none.
void Network::Collect(Time now, LinkId start) {
  component_links_.push_back(start);
  link_pass_[start] = pass_;
  for (std::size_t i = 0; i < component_links_.size(); ++i) {
    for (const FlowId id : link_flows_[component_links_[i]]) {
      Flow& flow = flows_[id];
      if (flow.settled == pass_) continue;
      flow.settled = pass_;
      flow.limit = Limit(now, flow);
      component_flows_.push_back(id);
      if ((flow.limit == 0 && flow.rate == 0) || StaysOnNode(flow)) continue;
      for (const LinkId link : LinksOf(flow)) {
        if (link_pass_[link] == pass_) continue;
        link_pass_[link] = pass_;
        component_links_.push_back(link);
      }
    }
  }
}

// What the source's own progress allows: anything while it is ahead, its in-rate once the flow has
// caught up, nothing while the flow is ahead of it.
double Network::Limit(Time now, const Flow& flow) const {
  if (in_turns()) return flow.has_turn ? most_ : 0;
  const Inbound& source = At(flow.source, flow.stripe);
  if (source.whole) return most_;
  const double gap = Available(now, flow) - Sent(now, flow);
  if (gap > slack_) return most_;
  return gap >= -slack_ ? source.rate : 0;
}

// Progressive filling: a flow whose limit is below the least fair share takes its limit; if there
// is none, the tightest link divides what it has left. Shares are those of a flow of weight 1.
void Network::ShareLinks() {
  for (const LinkId link : component_links_) shares_[link] = {Capacity(link), 0, 0};
  std::vector<std::size_t> open;
  new_rates_.assign(component_flows_.size(), 0);
  for (std::size_t i = 0; i < component_flows_.size(); ++i) {
    const Flow& flow = flows_[component_flows_[i]];
    if (flow.limit == 0) continue;
    if (StaysOnNode(flow)) {
      new_rates_[i] = std::min(flow.limit, capacity_);
      continue;
    }
    open.push_back(i);
    for (const LinkId link : LinksOf(flow)) {
      ++shares_[link].flows;
      shares_[link].weight += flow.weight;
    }
  }
  const auto fair = [this](LinkId link) { return shares_[link].left / shares_[link].weight; };
  while (!open.empty()) {
    double least = most_;
    for (const LinkId link : component_links_) {
      if (shares_[link].flows > 0) least = std::min(least, fair(link));
    }
    const double enough = least * (1 + 1e-12);
    const auto is_limited = [&](const Flow& flow) { return flow.limit <= enough * flow.weight; };
    const bool limited = std::ranges::any_of(
        open, [&](std::size_t i) { return is_limited(flows_[component_flows_[i]]); });
    const auto tight = [&](LinkId link) { return fair(link) <= enough; };
    std::vector<std::size_t> frozen;
    std::vector<std::size_t> rest;
    for (const std::size_t i : open) {
      const Flow& flow = flows_[component_flows_[i]];
      const bool freeze = limited ? is_limited(flow) : std::ranges::any_of(LinksOf(flow), tight);
      (freeze ? frozen : rest).push_back(i);
    }
    for (const std::size_t i : frozen) {
      const Flow& flow = flows_[component_flows_[i]];
      new_rates_[i] = std::min(flow.limit, least * flow.weight);
      for (const LinkId link : LinksOf(flow)) {
        shares_[link].left = std::max(shares_[link].left - new_rates_[i], 0.0);
        --shares_[link].flows;
        shares_[link].weight -= flow.weight;
      }
    }
    open = std::move(rest);
  }
}

void Network::Apply(Time now, FlowId id, double rate) {
  Flow& flow = flows_[id];
  if (std::abs(rate - flow.rate) > 1e-12 * capacity_) {
    NoteRate(now, flow, rate);
    flow.sent = Sent(now, flow);
    flow.at = now;
    flow.rate = rate;
    if (flow.tag == 0) flow.tag = At(flow.source, flow.stripe).tag;
    queue_.Push(now + latency_, {Kind::kRateArrives, id, rate});
  }
  const Time wake = NextWake(now, flow);
  if (wake == flow.wake) return;
  flow.wake = wake;
  if (wake != kNever) queue_.Push(wake, {Kind::kWake, id});
}

// When this flow next changes by itself: when it ends, catches up with its source, or its source
// gets ahead of it. Everything else is a change at a link or at the source.
Time Network::NextWake(Time now, const Flow& flow) const {
  const auto after = [now](double nanoseconds) {
    constexpr double kForever = 1e15;  // rates that differ by rounding alone never meet
    if (nanoseconds > kForever) return kNever;
    const auto whole = static_cast<std::int64_t>(std::ceil(nanoseconds));
    return now + Duration(std::max<std::int64_t>(whole, 1));
  };
  const Inbound& source = At(flow.source, flow.stripe);
  const double sent = Sent(now, flow);
  if (in_turns()) {
    return flow.has_turn && flow.rate > 0 ? after((flow.turn_end - sent) / flow.rate) : kNever;
  }
  if (source.whole) {
    return flow.rate > 0 ? after((stripe_bytes_[flow.stripe] - sent) / flow.rate) : kNever;
  }
  const double gap = Available(now, flow) - sent;
  if (gap < -slack_) return source.rate > 0 ? after(-gap / source.rate) : kNever;
  if (gap > slack_ && flow.rate > source.rate) return after(gap / (flow.rate - source.rate));
  return kNever;
}

}  // namespace hoplite::sim
