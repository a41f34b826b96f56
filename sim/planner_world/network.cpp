#include "sim/planner_world/network.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace hoplite::sim {
namespace {

double Nanoseconds(Duration d) { return static_cast<double>(d.count()); }

std::uint64_t StripeBytes(const Layout& layout, std::uint32_t stripe) {
  StripeMarks only(layout.stripe_count, 0);
  only[stripe] = layout.stripe_block_count(stripe);
  return layout.valid_bytes(only);
}

}  // namespace

Network::Network(const Layout& layout, double bytes_per_second, Duration latency, Stripes stripes)
    : layout_(layout),
      stripes_(layout.stripe_count),
      turns_(stripes),
      capacity_(bytes_per_second / 1e9),
      most_(capacity_),
      ways_(kMostSites),
      slack_(std::max(4.0, 4 * capacity_)),
      latency_(latency) {
  for (std::uint32_t s = 0; s < stripes_; ++s) {
    stripe_bytes_.push_back(static_cast<double>(StripeBytes(layout, s)));
  }
  AddLinks(kMostSites);
}

void Network::AddLinks(std::size_t count) {
  link_flows_.resize(link_flows_.size() + count);
  link_pass_.resize(link_flows_.size());
  is_touched_.resize(link_flows_.size());
  shares_.resize(link_flows_.size());
}

NodeIndex Network::AddCopy(NodeIndex node) {
  const auto copy = static_cast<NodeIndex>(node_of_.size());
  node_of_.push_back(node);
  if (node == copies_on_.size()) copies_on_.emplace_back();
  copies_on_[node].push_back(copy);
  foldings_.emplace_back();
  // What nobody else sends comes in all stripes at once.
  Inbound alone;
  alone.block = static_cast<double>(layout_.block_bytes) / stripes_;
  inbound_.resize(inbound_.size() + stripes_, alone);
  return copy;
}

NodeIndex Network::AddNode() {
  const auto node = static_cast<NodeIndex>(copies_on_.size());
  HOPLITE_CHECK(node_of_.size() == node, "nodes come before further copies");
  AddCopy(node);
  AddLinks(2);
  sent_bytes_.push_back(0);
  return node;
}

void Network::SetRate(NodeIndex node, double bytes_per_second) {
  own_capacity_[node] = bytes_per_second / 1e9;
  Touch(UpOf(node));
  Touch(UpOf(node) + 1);
}

void Network::SetSite(NodeIndex node, std::uint32_t site, double bytes_per_second) {
  site_of_[node] = site;
  ways_[site] = bytes_per_second / 1e9;
}

void Network::SetMark(Time now, NodeIndex node, std::uint32_t stripe, std::uint32_t blocks,
                      Tag tag) {
  Inbound& inbound = At(node, stripe);
  HOPLITE_CHECK(inbound.feeding == kNoFlow, "a mark is set only while nothing feeds the stripe");
  inbound.whole = blocks == layout_.stripe_block_count(stripe);
  inbound.bytes =
      inbound.whole ? stripe_bytes_[stripe] : static_cast<double>(blocks) * layout_.block_bytes;
  inbound.rate = 0;
  inbound.at = now;
  inbound.tag = tag;
  Touch(UpOf(node));
  Offer(now, node, stripe);
}

void Network::Produce(Time now, NodeIndex node, double bytes_per_second) {
  const double whole_bytes = static_cast<double>(std::max<std::uint64_t>(layout_.size_bytes, 1));
  const double duration = whole_bytes / bytes_per_second * 1e9;
  for (std::uint32_t s = 0; s < stripes_; ++s) {
    SetInboundRate(now, At(node, s), s, stripe_bytes_[s] / duration);
  }
  Touch(UpOf(node));
  queue_.Push(now + Duration(static_cast<std::int64_t>(std::ceil(duration))),
              {Kind::kProduced, node});
}

FlowId Network::Open(Time now, NodeIndex source, NodeIndex receiver, std::uint32_t stripe,
                     std::uint32_t together) {
  Inbound& inbound = At(receiver, stripe);
  HOPLITE_CHECK(inbound.feeding == kNoFlow, "one flow feeds a stripe at a time");
  const auto id = static_cast<FlowId>(flows_.size());
  Flow flow;
  flow.source = source;
  flow.receiver = receiver;
  flow.stripe = stripe;
  flow.began = flow.sent = inbound.bytes;
  flow.at = now;
  std::uint32_t* position = flow.position;
  for (const LinkId link : LinksOf(flow)) {
    *position++ = static_cast<std::uint32_t>(link_flows_[link].size());
    link_flows_[link].push_back(id);
  }
  inbound.feeding = id;
  inbound.at = now;
  inbound.block = static_cast<double>(layout_.block_bytes) / (in_turns() ? 1 : together);
  At(source, stripe).outgoing.push_back(id);
  Touch(UpLink(flow));
  flows_.push_back(flow);
  JoinStream(now, id);
  return id;
}

void Network::Break(Time now, FlowId id) {
  if (flows_[id].sending) {
    StopSending(now, id);
    queue_.Push(now + latency_, {Kind::kRateArrives, id, 0});
  }
}

void Network::Close(Time now, FlowId id) {
  Flow& flow = flows_[id];
  if (flow.sending) StopSending(now, id);
  if (!flow.receiving) return;
  flow.receiving = false;
  std::erase(At(flow.source, flow.stripe).outgoing, id);
  Inbound& inbound = At(flow.receiver, flow.stripe);
  SetInboundRate(now, inbound, flow.stripe, 0);
  inbound.feeding = kNoFlow;
  Touch(UpOf(flow.receiver));
  if (inbound.whole) return;
  const double kept = std::floor(inbound.bytes / inbound.block) * inbound.block;
  bytes_dropped_ += inbound.bytes - kept;
  inbound.bytes = kept;
  InputChanged(now, flow.receiver, flow.stripe);
}

std::uint32_t Network::Blocks(Time now, NodeIndex node, std::uint32_t stripe) const {
  const Inbound& inbound = At(node, stripe);
  if (inbound.whole) return layout_.stripe_block_count(stripe);
  // The last block of a stripe counts when its end arrives, as an event.
  const double blocks = Valid(now, inbound, stripe) / layout_.block_bytes;
  const auto last = std::max(layout_.stripe_block_count(stripe), 1u) - 1;
  return std::min(static_cast<std::uint32_t>(blocks), last);
}

FlowId Network::Feeding(NodeIndex node, std::uint32_t stripe) const {
  return At(node, stripe).feeding;
}

const std::vector<FlowId>& Network::Outgoing(NodeIndex node, std::uint32_t stripe) const {
  return At(node, stripe).outgoing;
}

double Network::RateInto(NodeIndex copy) const {
  double rate = 0;
  for (std::uint32_t s = 0; s < stripes_; ++s) rate += At(copy, s).rate;
  return rate * 1e9;
}

// What a node folds by itself comes over no link, nor what one of its copies gets from another.
double Network::RateIntoNodeOf(NodeIndex copy) const {
  const auto stays = [this](FlowId flow) { return flow != kNoFlow && StaysOnNode(flows_[flow]); };
  double rate = 0;
  for (const NodeIndex each : copies_on_[node_of_[copy]]) {
    const StripeMask folds = foldings_[each].made.stripes;
    for (std::uint32_t s = 0; s < stripes_; ++s) {
      const Inbound& inbound = At(each, s);
      if ((folds >> s & 1) == 0 && !stays(inbound.feeding)) rate += inbound.rate * 1e9;
    }
  }
  return rate;
}

double Network::Valid(Time now, const Inbound& inbound, std::uint32_t stripe) const {
  return std::min(inbound.bytes + inbound.rate * Nanoseconds(now - inbound.at),
                  stripe_bytes_[stripe]);
}

double Network::Sent(Time now, const Flow& flow) const {
  return std::min(flow.sent + flow.rate * Nanoseconds(now - flow.at), stripe_bytes_[flow.stripe]);
}

// What the source may send: all that it has, without the block that it is still receiving.
double Network::Available(Time now, const Flow& flow) const {
  const Inbound& inbound = At(flow.source, flow.stripe);
  if (inbound.whole) return stripe_bytes_[flow.stripe];
  return Valid(now, inbound, flow.stripe) - inbound.block;
}

void Network::Touch(LinkId link) {
  if (is_touched_[link]) return;
  is_touched_[link] = true;
  touched_.push_back(link);
}

void Network::Unlink(Flow& flow) {
  const std::uint32_t* position = flow.position;
  for (const LinkId link : LinksOf(flow)) {
    std::vector<FlowId>& list = link_flows_[link];
    const FlowId last = list.back();
    list[*position] = last;
    PositionIn(flows_[last], link) = *position++;
    list.pop_back();
    Touch(link);
  }
}

std::uint32_t& Network::PositionIn(Flow& flow, LinkId link) {
  const LinksOfFlow links = LinksOf(flow);
  return flow.position[std::ranges::find(links, link) - links.begin()];
}

void Network::SetInboundRate(Time now, Inbound& inbound, std::uint32_t stripe, double rate) {
  inbound.bytes = Valid(now, inbound, stripe);
  inbound.at = now;
  inbound.rate = rate;
}

void Network::SetWhole(Time now, NodeIndex node, std::uint32_t stripe) {
  Inbound& inbound = At(node, stripe);
  SetInboundRate(now, inbound, stripe, 0);
  inbound.bytes = stripe_bytes_[stripe];
  inbound.whole = true;
  Touch(UpOf(node));
  Offer(now, node, stripe);
}

void Network::StopSending(Time now, FlowId id) {
  Flow& flow = flows_[id];
  NoteRate(now, flow, 0);
  flow.sent = Sent(now, flow);
  flow.at = now;
  flow.rate = 0;
  flow.sending = false;
  if (!StaysOnNode(flow)) sent_bytes_[node_of_[flow.source]] += flow.sent - flow.began;
  flow.wake = kNever;
  Unlink(flow);
  LeaveStream(now, id);
}

void Network::Wake(Time now, FlowId id) {
  Flow& flow = flows_[id];
  if (!flow.sending || flow.wake != now) return;
  flow.wake = kNever;
  if (in_turns()) return EndTurn(now, id);
  if (Sent(now, flow) < stripe_bytes_[flow.stripe]) {
    Touch(UpLink(flow));
    return;
  }
  StopSending(now, id);
  queue_.Push(now + latency_, {Kind::kWholeArrives, id});
}

void Network::Advance(Time now, std::vector<Whole>& whole) {
  std::ranges::move(std::exchange(folded_, {}), std::back_inserter(whole));
  while (queue_.next_time() <= now) {
    const Event event = queue_.Pop();
    ++events_;
    if (event.kind == Kind::kWake) {
      Wake(now, event.flow);
      continue;
    }
    if (event.kind == Kind::kNoise) {
      if (noise_->IsDue(now, event.flow)) Touch(event.flow);
      continue;
    }
    if (event.kind == Kind::kFolded) continue;  // it was told already
    if (event.kind == Kind::kRefold) {
      if (At(event.flow, event.stripe).refold == now) Refold(now, event.flow, event.stripe);
      continue;
    }
    if (event.kind == Kind::kProduced) {
      for (std::uint32_t s = 0; s < stripes_; ++s) {
        SetWhole(now, event.flow, s);
        whole.push_back({event.flow, s, kNoFlow});
      }
      continue;
    }
    Flow& flow = flows_[event.flow];
    if (!flow.receiving) continue;
    if (event.kind == Kind::kRateArrives) {
      RateArrives(now, flow, event.rate);
      continue;
    }
    if (event.kind == Kind::kBlockArrives) {
      BlockArrives(now, event);
      continue;
    }
    SetWhole(now, flow.receiver, flow.stripe);
    Close(now, event.flow);
    whole.push_back({flow.receiver, flow.stripe, event.flow});
    InputChanged(now, flow.receiver, flow.stripe);
  }
  std::ranges::move(std::exchange(folded_, {}), std::back_inserter(whole));
}

void Network::RateArrives(Time now, const Flow& flow, double rate) {
  Inbound& inbound = At(flow.receiver, flow.stripe);
  SetInboundRate(now, inbound, flow.stripe, rate);
  inbound.tag = flow.tag;
  Touch(UpOf(flow.receiver));
  InputChanged(now, flow.receiver, flow.stripe);
}

std::string Network::BrokenInvariant(Time now) const {
  std::vector<double> load(link_flows_.size());
  for (const Flow& flow : flows_) {
    if (!flow.sending) continue;
    if (!StaysOnNode(flow)) {
      for (const LinkId link : LinksOf(flow)) load[link] += flow.rate;
    }
    const Inbound& source = At(flow.source, flow.stripe);
    if (flow.rate > 0 && Sent(now, flow) > Valid(now, source, flow.stripe) + 2 * slack_) {
      return fmt::format("P3: a flow from node {} to node {} reads past its source's watermark",
                         flow.source, flow.receiver);
    }
  }
  for (LinkId link = 0; link < load.size(); ++link) {
    if (load[link] > Capacity(link) * (1 + 1e-6)) {
      return link < kMostSites
                 ? fmt::format("the way out of site {} carries more than its rate", link)
                 : fmt::format("a link of node {} carries more than its rate",
                               (link - kMostSites) / 2);
    }
  }
  return {};
}

}  // namespace hoplite::sim
