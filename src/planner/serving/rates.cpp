#include "planner/serving/rates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "planner/copies/broadcast_cost.h"

namespace hoplite::planner {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
// Who gets so much of what it wants has nothing to gain.
constexpr double kEnough = 2.0 / 3;
// A holder with less than this left of what a receiver wants is full.
constexpr double kFull = 0.02;
constexpr int kFullClass = 20;
constexpr double kMostLoad = 1000;
constexpr double kSeen = 0.9;
// Who gets less of what it wants could take more.
constexpr double kSatisfied = 0.95;
// Of its source's link.
constexpr double kMuch = 0.4;
constexpr double kAll = 0.8;
// A move costs a moment without bytes, of so many messages: it must save more.
constexpr double kSaves = 0.06;
constexpr int kMessagesOfAMove = 6;
// So long a FETCH may wait until its source is ahead; less than it is held (R7).
constexpr double kCatchUpSeconds = 0.08;

double Or(double otherwise, double rate) { return rate > 0 ? rate : otherwise; }

int Steps(double most, double rate) {
  return static_cast<int>(std::log(most / rate) / std::log(kAlike));
}

}  // namespace

bool Rates::Count(const CopyTable& table, const NodeTable& nodes, bool alone, Time now) {
  if (!nodes.MayDiffer(now)) return false;
  double limit = kNoLimit;
  double slowest = kNoLimit;
  double shown = 0;
  bool apart = false;
  const std::string* site = nullptr;
  for (const auto& [id, copy] : table.copies()) {
    const NodeRecord* node = nodes.Find(id);
    if (node == nullptr) continue;
    apart |= site != nullptr && *site != node->info.site;
    site = &node->info.site;
    limit = std::min(limit, Or(kNoLimit, nodes.LimitOf(id, now)));
    slowest = std::min(slowest, Or(kNoLimit, nodes.ShownOf(id, now)));
    shown = std::max(shown, nodes.ShownOf(id, now));
  }
  if (!apart && (!alone || shown < kAlike * limit)) return false;
  if (slowest == kNoLimit) slowest = nodes.link().bytes_per_second;
  if (apart) slowest = std::min(slowest, Or(kSlowLink, nodes.SlowestWay()));
  return static_cast<double>(table.layout().size_bytes) > kSaves * slowest;
}

Rates::Rates(const CopyTable& table, const NodeTable& nodes, const FlowSamples& samples, Time now)
    : table_(table), move_(kMessagesOfAMove * nodes.link().latency) {
  double fastest = 0;
  for (const auto& [id, copy] : table.copies()) {
    fastest = std::max(fastest, nodes.ShownOf(id, now));
  }
  if (fastest == 0) fastest = nodes.link().bytes_per_second;
  std::map<std::string, std::uint32_t> sites;
  std::vector<Node*> holders;  // that need no source; then those behind them, down the tree
  for (const auto& [id, copy] : table.copies()) Note(id, copy, nodes, fastest, now);
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
  at_home_.assign(sites.size(), false);
  for (const Node* holder : holders) at_home_[holder->site] = true;
  ways_.assign(sites.size(), std::vector<double>(sites.size(), kNoLimit));
  for (const auto& [from, one] : sites) {
    for (const auto& [to, other] : sites) {
      if (one != other) ways_[one][other] = Or(kNoLimit, nodes.RateOfWay(from, to));
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
    const double reach = std::min({holder.shown, holder.passes(), ways_[holder.site][site]});
    most_[site] = std::max(most_[site], reach);
  }
}

// What a link may bring is guessed, as much as anybody was shown to carry: a wrong guess costs only
// its own node.
void Rates::Note(NodeId id, const Copy& copy, const NodeTable& nodes, double fastest, Time now) {
  Node node{.id = id, .distance = table_.DistanceOf(0, id)};
  const NodeRecord* record = nodes.Find(id);
  node.told = record == nullptr ? 0 : record->told;
  node.shown = nodes.SendsOf(id, now);
  node.wants = Or(fastest, nodes.LimitOf(id, now));
  node.sends = nodes.IsBounded(id, now) ? node.shown : std::max(node.shown, fastest);
  node.slow = record != nullptr && record->slow.At(now) > 0;
  node.needs_source = !copy.final();
  nodes_.push_back(std::move(node));
}

std::size_t Rates::IndexOf(NodeId node) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(nodes_, node, {}, &Node::id) -
                                  nodes_.begin());
}

double Rates::Node::passes() const { return needs_source ? comes : kNoLimit; }

// Its link goes to its receivers one by one: those at home first, then the faster ones. A stream that
// was not measured yet may take all that is left.
void Rates::Share(Node& holder, const FlowSamples& samples) {
  std::ranges::sort(holder.serves, {}, [&](const Node* node) {
    return std::tuple(node->site != holder.site, node->turn(), node->id);
  });
  double left = holder.sends;
  for (Node* receiver : holder.serves) {
    receiver->hops = holder.hops + 1;
    const FlowSamples::Rate rate = samples.RateOf(receiver->id, table_);
    receiver->seen = rate.most;
    const double way = ways_[holder.site][receiver->site];
    // Until who crosses has made room, streams share the link alike.
    const double alike = holder.sends / static_cast<double>(holder.serves.size());
    const double part = receiver->site == holder.site ? left : std::max(left, alike);
    receiver->comes = std::min({receiver->wants, part, holder.passes(), way});
    receiver->takes = receiver->comes;
    if (rate.most > 0) {
      receiver->takes = kTakesMore * rate.most;
      // Of told rates the plan is known before it can be seen.
      const bool sure = rate.held || receiver->told == 0;
      receiver->comes = std::max(receiver->comes, sure ? kSeen * rate.most : 0.0);
      receiver->comes = std::min(receiver->comes, receiver->takes);
      if (!rate.held) receiver->comes = std::min(receiver->comes, holder.passes());
    }
    left = std::max(left - receiver->takes, 0.0);
  }
}

double Rates::Spare(const Node& holder, double carries, const Node& receiver) const {
  double spare = carries;
  const double fast = std::min(receiver.told, carries);
  for (const Node* served : holder.serves) {
    if (served == &receiver || IsSlower(*served, fast)) continue;
    if (!GivesWay(*served, receiver)) spare -= served->takes;
  }
  return std::max(spare, 0.0);
}

double Rates::Given(const Node& holder) {
  double given = 0;
  for (const Node* served : holder.serves) given += served->comes;
  return given;
}

double Rates::Expected(const Node& holder, double carries, const Node& receiver) const {
  return std::min({receiver.wants, Spare(holder, carries, receiver), holder.passes(),
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
  const double rate = Expected(holder, holder.gives(), receiver);
  Offer offer{.away = holder.site != receiver.site,
              .partial = holder.needs_source,
              .load = static_cast<int>(std::min(8 * Given(holder) / holder.gives(), kMostLoad)),
              .on_disk = table_.Find(holder.id)->on_disk,
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

bool Rates::IsWorthAMove(NodeId receiver_id, NodeId holder_id) const {
  const Node& holder = of(holder_id);
  return Pays(of(receiver_id), Expected(holder, holder.shown, of(receiver_id)));
}

bool Rates::MayBeWorthAMove(NodeId receiver_id) const {
  const Node& receiver = of(receiver_id);
  return Pays(receiver, std::min(receiver.wants, most_[receiver.site]));
}

// What comes to who told nothing must have been measured.
bool Rates::Pays(const Node& receiver, double then) const {
  const double now = receiver.comes;
  if (then < kAlike * now || (receiver.seen == 0 && receiver.told == 0)) return false;
  const auto missing = static_cast<double>(Missing(receiver.id));
  const double saves = missing / std::max(now, 0.05 * receiver.wants) - missing / then;
  return saves > kSaves + ToSeconds(move_);
}

// Where two share a link from the beginning nobody is shown more. A narrow way leaves enough.
bool Rates::TakesMuch(const Node& receiver, const Node& source) const {
  const double way = std::min(receiver.wants, ways_[source.site][receiver.site]);
  return Or(way, receiver.seen) >= kMuch * source.sends;
}

bool Rates::OutlastsAMove(const Node& receiver, double bytes_per_second) const {
  const auto missing = static_cast<double>(Missing(receiver.id));
  return missing > bytes_per_second * (kSaves + ToSeconds(move_));
}

bool Rates::GivesWay(const Node& served, const Node& receiver) const {
  const Node& source = *served.source;
  if (served.site == source.site || receiver.site != source.site) return false;
  const std::uint64_t missing = Missing(receiver.id);
  const std::uint64_t lead = missing - std::min(missing, Missing(served.id));
  return TakesMuch(served, source) && OutlastsAMove(served, served.wants) &&
         static_cast<double>(lead) <= kCatchUpSeconds * source.sends;
}

bool Rates::HoldsUp(const Node& receiver, const Node& other) const {
  if (&other == &receiver) return false;
  const Node& source = *receiver.source;
  if (receiver.site != source.site) {
    const bool first = other.site == source.site || !IsSlower(other, receiver.told);
    return first && TakesMuch(receiver, source) && Given(source) >= kAll * source.sends;
  }
  return receiver.slow && kAlike * receiver.wants <= other.wants &&
         other.comes < kSatisfied * other.wants;
}

std::vector<NodeId> Rates::GivesWayTo(NodeId receiver_id) const {
  const Node& receiver = of(receiver_id);
  const Node* source = receiver.source;
  if (source == nullptr) return {};
  const auto held_up = [&](const Node* other) { return HoldsUp(receiver, *other); };
  if (std::ranges::none_of(source->serves, held_up)) return {};
  const double gets = std::min(receiver.comes, receiver.wants);
  // Who crosses goes without bytes for a move, and gets all that it wants then instead of half.
  if (!OutlastsAMove(receiver, receiver.site == source->site ? gets : receiver.wants)) return {};
  std::vector<const Node*> behind;
  for (const Node& node : nodes_) {
    // They have what it leaves them.
    const double then = std::min(node.wants, node.passes() + receiver.takes);
    const bool stays = receiver.site != source->site || node.site == source->site;
    const bool fits = !node.slow && node.needs_source && stays && then >= gets;
    if (fits && !table_.Find(node.id)->leaf && IsBehind(node, *source) && &node != &receiver &&
        !IsBehind(node, receiver)) {
      behind.push_back(&node);
    }
  }
  std::ranges::sort(behind, {}, [&](const Node* node) {
    return std::tuple(node->serves.size(), node->site != source->site, node->hops, node->id);
  });
  std::vector<NodeId> ids;
  for (const Node* node : behind) ids.push_back(node->id);
  return ids;
}

// What the receiver takes is the holder's as soon as it leaves the source of both.
bool Rates::CatchesUp(NodeId holder_id, std::uint64_t bytes, NodeId receiver_id) const {
  const Node& holder = of(holder_id);
  const Node& receiver = of(receiver_id);
  const bool beside = receiver.source != nullptr && IsBehind(holder, *receiver.source) &&
                      !IsBehind(holder, receiver);
  const double comes = holder.comes + (beside ? receiver.takes : 0);
  return static_cast<double>(bytes) <= kCatchUpSeconds * std::min(comes, holder.wants);
}

bool Rates::IsFedWithin(NodeId receiver_id, const std::function<bool(NodeId)>& reaches) const {
  const Node& receiver = of(receiver_id);
  const std::uint64_t has = table_.Find(receiver_id)->progress();
  return std::ranges::any_of(nodes_, [&](const Node& node) {
    if (&node == &receiver || node.site != receiver.site) return false;
    const bool crosses = node.source != nullptr && node.source->site != node.site;
    if (node.needs_source && (!crosses || IsSlower(node, receiver.told))) return false;
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
  receiver.comes = receiver.takes = Expected(holder, holder.gives(), receiver);
  receiver.seen = 0;
  receiver.source = &holder;
  receiver.hops = holder.hops + 1;
  holder.serves.push_back(&receiver);
  NoteReach(receiver);
  // Those behind it get more now, and need no move of their own.
  std::vector<Node*> reached{&receiver};
  for (std::size_t i = 0; i < std::min(reached.size(), nodes_.size()); ++i) {
    for (Node* behind : reached[i]->serves) {
      behind->comes = std::max(behind->comes, Expected(*reached[i], reached[i]->gives(), *behind));
      reached.push_back(behind);
    }
  }
}

}  // namespace hoplite::planner
