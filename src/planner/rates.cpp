#include "planner/rates.h"

#include <algorithm>
#include <cmath>
#include <limits>
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
  double least = nodes.link().bytes_per_second;
  double most = 0;
  bool apart = false;
  const std::string* site = nullptr;
  for (const auto& [id, copy] : table.copies()) {
    const NodeRecord* node = nodes.Find(id);
    if (node == nullptr) continue;
    apart |= site != nullptr && *site != node->info.site;
    site = &node->info.site;
    if (node->carries == 0) continue;
    least = most == 0 ? node->carries : std::min(least, node->carries);
    most = std::max(most, node->carries);
  }
  if (!apart && (!alone || most <= kAlike * least)) return false;
  if (apart) least = std::min(least, WayOr(kSlowLink, nodes.SlowestWay()));
  return static_cast<double>(table.layout().size_bytes) > kSaves * least;
}

Rates::Rates(const CopyTable& table, const NodeTable& nodes, const FlowSamples& samples)
    : table_(table), move_(kMessagesOfAMove * nodes.link().latency) {
  double fastest = 0;
  for (const auto& [id, copy] : table.copies()) {
    if (const NodeRecord* node = nodes.Find(id)) fastest = std::max(fastest, node->carries);
  }
  if (fastest == 0) fastest = nodes.link().bytes_per_second;
  for (const auto& [id, copy] : table.copies()) Note(id, copy, nodes, fastest);
  std::map<std::string, std::uint32_t> sites;
  for (auto& [id, node] : nodes_) {
    const auto number = static_cast<std::uint32_t>(sites.size());
    node.site = sites.try_emplace(nodes.SiteOf(id), number).first->second;
    if (node.source != kNoNode) nodes_.at(node.source).serves.push_back(id);
  }
  for (const auto& [from, one] : sites) {
    for (const auto& [to, other] : sites) ways_[{one, other}] = nodes.RateOfWay(from, to);
  }
  // From those that need no source on, down the tree.
  std::vector<NodeId> holders;
  for (const auto& [id, node] : nodes_) {
    if (!node.needs_source) holders.push_back(id);
  }
  for (std::size_t i = 0; i < holders.size(); ++i) {
    Share(holders[i], samples);
    std::ranges::copy(of(holders[i]).serves, std::back_inserter(holders));
  }
}

void Rates::Note(NodeId id, const Copy& copy, const NodeTable& nodes, double fastest) {
  const NodeRecord* known = nodes.Find(id);
  const bool measured = known != nullptr && known->carries > 0;
  Node node;
  node.wants = measured ? known->carries : fastest;
  node.sends = known != nullptr && known->sends > 0 ? known->sends : node.wants;
  node.rate_class =
      static_cast<int>(std::lround(std::log(fastest / node.wants) / std::log(kAlike)));
  node.needs_source = !copy.final();
  const Feed* feed = FeedOf(&copy, table_);
  if (feed != nullptr && !feed->lost() && table_.Find(feed->source) != nullptr) {
    node.source = feed->source;
  }
  nodes_.emplace(id, std::move(node));
}

// Its link goes to its receivers one by one: the faster ones first.
void Rates::Share(NodeId holder_id, const FlowSamples& samples) {
  Node& holder = nodes_.at(holder_id);
  std::ranges::sort(holder.serves, {}, [&](NodeId id) { return std::pair(of(id).rate_class, id); });
  double left = holder.sends;
  for (const NodeId id : holder.serves) {
    Node& receiver = nodes_.at(id);
    receiver.hops = holder.hops + 1;
    const double passes = holder.needs_source ? holder.comes : kNoLimit;
    receiver.comes = std::min({receiver.wants, left, passes, WayTo(receiver, holder)});
    left -= receiver.comes;
    const FlowSamples::Rate seen = samples.RateOf(id, table_);
    if (seen.bytes_per_second == 0) continue;
    if (seen.ready) receiver.comes = std::max(receiver.comes, kSeen * seen.bytes_per_second);
    receiver.comes = std::min(receiver.comes, kMayGrow * seen.bytes_per_second);
  }
}

double Rates::WayTo(const Node& receiver, const Node& holder) const {
  if (receiver.site == holder.site) return kNoLimit;
  return WayOr(kNoLimit, ways_.at({holder.site, receiver.site}));
}

double Rates::Spare(const Node& holder, NodeId receiver) const {
  const int own = of(receiver).rate_class;
  double spare = holder.sends;
  for (const NodeId id : holder.serves) {
    if (id != receiver && of(id).rate_class <= own) spare -= of(id).comes;
  }
  return std::max(spare, 0.0);
}

double Rates::Given(const Node& holder) const {
  double given = 0;
  for (const NodeId id : holder.serves) given += of(id).comes;
  return given;
}

double Rates::Expected(const Node& holder, NodeId receiver_id) const {
  const Node& receiver = of(receiver_id);
  const double passes = holder.needs_source ? holder.comes : kNoLimit;
  return std::min({receiver.wants, Spare(holder, receiver_id), passes, WayTo(receiver, holder)});
}

Rates::Offer Rates::OfferOf(NodeId holder_id, NodeId receiver_id) const {
  const Node& holder = of(holder_id);
  const Node& receiver = of(receiver_id);
  const double rate = Expected(holder, receiver_id);
  Offer offer{.away = holder.site != receiver.site,
              .partial = holder.needs_source,
              .load = static_cast<int>(8 * Given(holder) / holder.sends),
              .hops = holder.hops};
  if (rate < kFull * receiver.wants) {
    offer.shortfall = kFullClass;
    offer.crowd = static_cast<std::uint32_t>(holder.serves.size());
  } else if (rate < kEnough * receiver.wants) {
    offer.shortfall = 1 + Steps(receiver.wants, rate);
  }
  const std::uint64_t own = table_.DistanceOf(0, receiver_id);
  offer.distance = own - table_.DistanceOf(0, holder_id);
  return offer;
}

std::uint64_t Rates::Missing(NodeId receiver) const {
  const Layout& layout = table_.layout();
  return (layout.block_count() - table_.Find(receiver)->progress()) * layout.block_bytes;
}

bool Rates::IsWorthAMove(NodeId receiver_id, NodeId holder_id) const {
  const Node& receiver = of(receiver_id);
  const Node& holder = of(holder_id);
  const double now = receiver.comes;
  const double then = Expected(holder, receiver_id);
  if (then < kAlike * now) return false;
  const auto missing = static_cast<double>(Missing(receiver_id));
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
  return std::ranges::any_of(nodes_, [&](const auto& at) {
    const auto& [id, node] = at;
    const Copy& copy = *table_.Find(id);
    if (id == receiver_id || node.site != receiver.site || !copy.live || copy.leaf) return false;
    if (!reaches(id)) return false;
    if (!node.needs_source) return true;
    const bool crosses = node.source != kNoNode && of(node.source).site != node.site;
    return crosses && node.rate_class <= receiver.rate_class && copy.progress() >= has;
  });
}

void Rates::Serve(NodeId holder_id, NodeId receiver_id) {
  Node& receiver = nodes_.at(receiver_id);
  Node& holder = nodes_.at(holder_id);
  if (receiver.source != kNoNode) std::erase(nodes_.at(receiver.source).serves, receiver_id);
  receiver.comes = Expected(holder, receiver_id);
  receiver.source = holder_id;
  receiver.hops = holder.hops + 1;
  holder.serves.push_back(receiver_id);
}

}  // namespace hoplite::planner
