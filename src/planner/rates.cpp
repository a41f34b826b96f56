#include "planner/rates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "planner/broadcast_cost.h"

namespace hoplite::planner {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
// Rates within this factor are alike.
constexpr double kAlike = 1.5;
// Who gets so much of what it wants has nothing to gain.
constexpr double kEnough = 2.0 / 3;
// A holder with less than this left of what a receiver wants is full.
constexpr double kFull = 0.02;
constexpr int kFullClass = 20;
// What a relay is seen to get may grow a little.
constexpr double kMayGrow = 1.1;
constexpr double kSeen = 0.9;
// A move costs a moment without bytes, of so many messages: it must save more.
constexpr double kSaves = 0.06;
constexpr int kMessagesOfAMove = 6;
// So long a FETCH may wait until its source is ahead; less than it is held (R7).
constexpr double kCatchUpSeconds = 0.08;

double WayOr(double otherwise, double rate) { return rate > 0 ? rate : otherwise; }

int Steps(double most, double rate) {
  return static_cast<int>(std::log(most / rate) / std::log(kAlike));
}

}  // namespace

bool Rates::Count(const CopyTable& table, const NodeTable& nodes, bool alone) {
  if (!nodes.MayDiffer()) return false;
  double least = kNoLimit;
  double most = 0;
  bool apart = false;
  const std::string* site = nullptr;
  for (const auto& [id, copy] : table.copies()) {
    const NodeRecord* node = nodes.Find(id);
    if (node == nullptr) continue;
    apart |= site != nullptr && *site != node->info.site;
    site = &node->info.site;
    // What was measured of links that are alike differs, too: only what all told shows a difference.
    alone &= node->told > 0;
    least = std::min(least, WayOr(kNoLimit, node->told));
    most = std::max(most, node->told);
  }
  if (!apart && (!alone || most <= kAlike * least)) return false;
  if (least == kNoLimit) least = nodes.link().bytes_per_second;
  if (apart) least = std::min(least, WayOr(kSlowLink, nodes.SlowestWay()));
  return static_cast<double>(table.layout().size_bytes) > kSaves * least;
}

Rates::Rates(const CopyTable& table, const NodeTable& nodes, const FlowSamples& samples, Time now)
    : table_(table), move_(kMessagesOfAMove * nodes.link().latency) {
  double fastest = 0;
  for (const auto& [id, copy] : table.copies()) {
    fastest = std::max(fastest, nodes.MayCarry(id, now));
  }
  if (fastest == 0) fastest = nodes.link().bytes_per_second;
  std::map<std::string, std::uint32_t> sites;
  std::vector<Node*> holders;  // that need no source; then those behind them, down the tree
  for (const auto& [id, copy] : table.copies()) {
    Note(id, copy, nodes.MayCarry(id, now), nodes.SendsOf(id, now), fastest);
  }
  for (Node& node : nodes_) {
    const auto number = static_cast<std::uint32_t>(sites.size());
    node.site = sites.try_emplace(nodes.SiteOf(node.id), number).first->second;
    if (!node.needs_source) holders.push_back(&node);
  }
  for (const auto& [id, copy] : table.copies()) {
    const Feed* feed = FeedOf(&copy, table);
    if (feed == nullptr || feed->lost() || table.Find(feed->source) == nullptr) continue;
    Node& node = of(id);
    node.source = &of(feed->source);
    node.source->serves.push_back(&node);
  }
  ways_.assign(sites.size(), std::vector<double>(sites.size(), kNoLimit));
  for (const auto& [from, one] : sites) {
    for (const auto& [to, other] : sites) {
      if (one != other) ways_[one][other] = WayOr(kNoLimit, nodes.RateOfWay(from, to));
    }
  }
  most_.resize(sites.size());
  for (std::size_t i = 0; i < holders.size(); ++i) {
    Share(*holders[i], samples);
    NoteReach(*holders[i]);
    std::ranges::copy(holders[i]->serves, std::back_inserter(holders));
  }
}

void Rates::NoteReach(const Node& holder) {
  for (std::size_t site = 0; site < most_.size(); ++site) {
    const double reach = std::min({holder.sends, holder.passes(), ways_[holder.site][site]});
    most_[site] = std::max(most_[site], reach);
  }
}

void Rates::Note(NodeId id, const Copy& copy, double may_carry, double sends, double fastest) {
  Node node{.id = id, .distance = table_.DistanceOf(0, id)};
  node.wants = may_carry > 0 ? may_carry : fastest;
  node.sends = sends > 0 ? sends : node.wants;
  node.rate_class =
      static_cast<int>(std::lround(std::log(fastest / node.wants) / std::log(kAlike)));
  node.needs_source = !copy.final();
  nodes_.push_back(std::move(node));
}

std::size_t Rates::IndexOf(NodeId node) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(nodes_, node, {}, &Node::id) -
                                  nodes_.begin());
}

double Rates::Node::passes() const { return needs_source ? comes : kNoLimit; }

// Its link goes to its receivers one by one: the faster ones first.
void Rates::Share(Node& holder, const FlowSamples& samples) {
  std::ranges::sort(holder.serves, {},
                    [](const Node* node) { return std::pair(node->rate_class, node->id); });
  double left = holder.sends;
  for (Node* receiver : holder.serves) {
    receiver->hops = holder.hops + 1;
    const double way = ways_[holder.site][receiver->site];
    receiver->comes = std::min({receiver->wants, left, holder.passes(), way});
    left -= receiver->comes;
    const FlowSamples::Rate seen = samples.RateOf(receiver->id, table_);
    if (seen.bytes_per_second == 0) continue;
    if (seen.ready) receiver->comes = std::max(receiver->comes, kSeen * seen.bytes_per_second);
    receiver->comes = std::min(receiver->comes, kMayGrow * seen.bytes_per_second);
  }
}

double Rates::Spare(const Node& holder, const Node& receiver) {
  double spare = holder.sends;
  for (const Node* served : holder.serves) {
    if (served != &receiver && served->rate_class <= receiver.rate_class) spare -= served->comes;
  }
  return std::max(spare, 0.0);
}

double Rates::Given(const Node& holder) {
  double given = 0;
  for (const Node* served : holder.serves) given += served->comes;
  return given;
}

double Rates::Expected(const Node& holder, const Node& receiver) const {
  return std::min({receiver.wants, Spare(holder, receiver), holder.passes(),
                   ways_[holder.site][receiver.site]});
}

std::vector<std::pair<Rates::Offer, NodeId>> Rates::OffersTo(NodeId receiver_id,
                                                             const OneOrSet<SourceKey>& sources,
                                                             bool within_site) const {
  const Node& receiver = of(receiver_id);
  std::vector<std::pair<Offer, NodeId>> offers;
  for (const SourceKey& key : sources) {
    const Node& holder = of(key.node);
    if (&holder == &receiver || (within_site && holder.site != receiver.site)) continue;
    offers.emplace_back(OfferOf(holder, receiver), key.node);
  }
  return offers;
}

Rates::Offer Rates::OfferOf(const Node& holder, const Node& receiver) const {
  const double rate = Expected(holder, receiver);
  Offer offer{.away = holder.site != receiver.site,
              .partial = holder.needs_source,
              .load = static_cast<int>(8 * Given(holder) / holder.sends),
              .hops = holder.hops,
              .distance = receiver.distance - holder.distance};
  if (rate < kFull * receiver.wants) {
    offer.shortfall = kFullClass;
    offer.crowd = static_cast<std::uint32_t>(holder.serves.size());
  } else if (rate < kEnough * receiver.wants) {
    offer.shortfall = 1 + Steps(receiver.wants, rate);
  }
  return offer;
}

std::uint64_t Rates::Missing(NodeId receiver) const {
  const Layout& layout = table_.layout();
  return (layout.block_count() - table_.Find(receiver)->progress()) * layout.block_bytes;
}

bool Rates::IsWorthAMove(NodeId receiver, NodeId holder) const {
  return Pays(of(receiver), Expected(of(holder), of(receiver)));
}

bool Rates::MayBeWorthAMove(NodeId receiver_id) const {
  const Node& receiver = of(receiver_id);
  return Pays(receiver, std::min(receiver.wants, most_[receiver.site]));
}

bool Rates::Pays(const Node& receiver, double then) const {
  const double now = receiver.comes;
  if (then < kAlike * now) return false;
  const auto missing = static_cast<double>(Missing(receiver.id));
  const double saves = missing / std::max(now, 0.05 * receiver.wants) - missing / then;
  return saves > kSaves + ToSeconds(move_);
}

bool Rates::CatchesUp(NodeId holder_id, std::uint64_t bytes) const {
  const Node& holder = of(holder_id);
  return static_cast<double>(bytes) <= kCatchUpSeconds * std::min(holder.comes, holder.wants);
}

bool Rates::IsFedWithin(NodeId receiver_id, const std::function<bool(NodeId)>& reaches) const {
  const Node& receiver = of(receiver_id);
  const std::uint64_t has = table_.Find(receiver_id)->progress();
  return std::ranges::any_of(nodes_, [&](const Node& node) {
    if (&node == &receiver || node.site != receiver.site) return false;
    const bool crosses = node.source != nullptr && node.source->site != node.site;
    if (node.needs_source && (!crosses || node.rate_class > receiver.rate_class)) return false;
    if (IsBehind(node, receiver)) return false;
    const Copy& copy = *table_.Find(node.id);
    if (!copy.live || copy.leaf || !reaches(node.id)) return false;
    return !node.needs_source || copy.progress() >= has;
  });
}

bool Rates::IsBehind(const Node& node, const Node& receiver) const {
  const Node* at = node.source;
  for (std::size_t steps = 0; at != nullptr && steps < nodes_.size(); ++steps) {
    if (at == &receiver) return true;
    at = at->source;
  }
  return false;
}

void Rates::Serve(NodeId holder_id, NodeId receiver_id) {
  Node& receiver = of(receiver_id);
  Node& holder = of(holder_id);
  if (receiver.source != nullptr) std::erase(receiver.source->serves, &receiver);
  receiver.comes = Expected(holder, receiver);
  receiver.source = &holder;
  receiver.hops = holder.hops + 1;
  holder.serves.push_back(&receiver);
  NoteReach(receiver);
}

}  // namespace hoplite::planner
