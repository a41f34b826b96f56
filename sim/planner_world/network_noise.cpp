// Noise of links and streams, where a network has any: shares are computed as without it, of what the
// links carry at this moment, and again when that changes.
#include <algorithm>
#include <utility>

#include "sim/planner_world/network.h"

namespace hoplite::sim {

void Network::SetNoise(const Noise& noise, std::uint64_t seed) {
  if (!noise.of_links()) return;
  noise_.emplace(noise, seed);
  most_ = capacity_ * noise_->fastest();
  slack_ = std::max(4.0, 4 * most_);
}

Time Network::Awake(NodeIndex copy, Time when) const {
  return noise_ ? noise_->stalls().Awake(node_of_[copy], when) : when;
}

// Bytes that come in bursts seldom come at the very moment of the question.
Network::Inflow Network::InflowOf(Time now, NodeIndex copy) {
  if (!noise_) return {RateIntoNodeOf(copy), RateInto(copy) > 0};
  Question question{now, noise_->Carried(now, UpOf(copy) + 1), 0};
  for (std::uint32_t s = 0; s < stripes_; ++s) question.bytes += Valid(now, At(copy, s), s);
  const Question last = std::exchange(questions_[copy], question);
  const double seconds = ToSeconds(now - last.at);
  return {seconds > 0 ? (question.carried - last.carried) / seconds : RateIntoNodeOf(copy),
          question.bytes > last.bytes || RateInto(copy) > 0};
}

// Of the component whose flows and links were collected.
void Network::SettleNoise(Time now) {
  for (const LinkId link : component_links_) {
    const bool of_node = link >= kMostSites;
    const std::uint32_t host = of_node ? (link - kMostSites) / 2 : LinkNoise::kNoHost;
    noise_->Settle(now, link, host, OwnRate(link));
  }
  for (const FlowId id : component_flows_) {
    const Flow& flow = flows_[id];
    if (flow.rate > 0) noise_->Sent(now, {flow.source, flow.receiver});
  }
  for (const FlowId id : component_flows_) {
    Flow& flow = flows_[id];
    if (flow.limit == 0 || StaysOnNode(flow)) continue;
    const LinkNoise::Stream stream{flow.source, flow.receiver};
    flow.weight = noise_->Weight(now, stream);
    noise_->Wants(now, stream, UpLink(flow));
    for (const LinkId link : LinksOf(flow)) noise_->Shares(link);
  }
}

// Streams that grow take at most a part of what they would get if they had enough to send; the others
// share what is left.
void Network::HoldBack(Time now) {
  std::vector<Growing> growing;
  for (std::size_t i = 0; i < component_flows_.size(); ++i) {
    Flow& flow = flows_[component_flows_[i]];
    if (flow.limit == 0 || StaysOnNode(flow)) continue;
    const double part = noise_->Part(now, {flow.source, flow.receiver});
    if (part < 1) growing.push_back({i, part, std::exchange(flow.limit, most_)});
  }
  if (growing.empty()) return;
  ShareLinks();
  for (const auto& [i, part, limit] : growing) {
    flows_[component_flows_[i]].limit = std::min(limit, part * new_rates_[i]);
  }
}

void Network::LookAgain(Time now) {
  for (const LinkId link : component_links_) {
    if (const auto due = noise_->Due(now, link)) queue_.Push(*due, {Kind::kNoise, link});
  }
}

void Network::NoteRate(Time now, const Flow& flow, double rate) {
  if (!noise_ || StaysOnNode(flow)) return;
  for (const LinkId link : LinksOf(flow)) {
    noise_->Load(now, link, rate - flow.rate);
    if (rate == 0) Touch(link);
  }
  if (flow.rate > 0) noise_->Sent(now, {flow.source, flow.receiver});
}

}  // namespace hoplite::sim
