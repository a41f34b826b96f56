#include "planner/copies/node_table.h"

#include <algorithm>
#include <utility>

namespace hoplite::planner {

const NodeRecord* NodeTable::Find(NodeId node) const {
  const auto entry = nodes_.find(node);
  return entry == nodes_.end() ? nullptr : &entry->second;
}

NodeId NodeTable::Named(const std::string& name) const {
  const auto entry = by_name_.find(name);
  return entry == by_name_.end() ? kNoNode : entry->second;
}

bool NodeTable::alive(NodeId node) const {
  const NodeRecord* record = Find(node);
  return record != nullptr && record->alive;
}

std::string NodeTable::NameOf(NodeId node) const {
  const NodeRecord* record = Find(node);
  if (record != nullptr) return record->info.name;
  const auto departed = departed_.find(node);
  return departed != departed_.end() ? departed->second : ToString(node);
}

const std::string& NodeTable::SiteOf(NodeId node) const {
  static const std::string none;
  const NodeRecord* record = Find(node);
  return record != nullptr ? record->info.site : none;
}

void NodeTable::Join(const NodeInfo& info, Time now) {
  NodeRecord& record = nodes_[info.id];
  if (!record.info.name.empty()) by_name_.erase(record.info.name);
  CloseInventory(record);
  const std::uint64_t told = info.link_bytes_per_second;
  const bool news = told != record.info.link_bytes_per_second;
  if (!record.info.name.empty()) CountSite(record.info.site, -1);
  CountSite(info.site, 1);
  record.info = info;
  if (news) {
    const auto rate = static_cast<double>(told);
    record.shown = 0;
    record.slow = record.full = {};
    record.tried = {};
    CountTold(record.told, -1);
    record.told = told == 0 ? 0 : std::clamp(rate, kSlowestLink, kFastestLink);
    CountTold(record.told, 1);
    NoteFastest(record);
  }
  SetAlive(record, true);
  record.inventory_open = true;
  record.telling = now;
  record.waits.clear();
  ++open_inventories_;
  by_name_[info.name] = info.id;
}

void NodeTable::Suspend(NodeId node) {
  NodeRecord& record = nodes_.at(node);
  CloseInventory(record);
  SetAlive(record, false);
}

void NodeTable::NoteHeard(NodeId node, Time now) {
  if (open_inventories_ == 0) return;
  NodeRecord& record = nodes_.at(node);
  if (record.inventory_open) record.telling = now;
}

void NodeTable::EndInventory(NodeId node) {
  NodeRecord& record = nodes_.at(node);
  CloseInventory(record);
  record.telling.reset();
}

void NodeTable::CloseInventory(NodeRecord& record) {
  if (record.inventory_open) --open_inventories_;
  record.inventory_open = false;
}

void NodeTable::SetAlive(NodeRecord& record, bool alive) {
  if (record.alive == alive) return;
  record.alive = alive;
  alive ? ++alive_count_ : --alive_count_;
}

std::optional<Time> NodeTable::LastTold() const {
  std::optional<Time> last;
  for (const auto& [node, record] : nodes_) last = std::max(last, record.telling);
  return last;
}

// Reports come every few milliseconds from whoever receives: the mean of the last ten or so. A
// round trip is what the network takes for two messages.
void NodeTable::NoteLink(NodeId node, std::uint64_t bytes_per_second, Duration round_trip,
                         Time now) {
  constexpr double kWeight = 0.1;
  NodeRecord& member = nodes_.at(node);
  if (bytes_per_second > 0) {
    member.bytes_per_second = bytes_per_second;
    member.rate_told = now;
    if (++reports_ >= kEnoughReports) link_.guessed = false;
    link_.bytes_per_second +=
        kWeight * (static_cast<double>(bytes_per_second) - link_.bytes_per_second);
  }
  if (round_trip > Duration{0}) {
    member.round_trip = round_trip;
    link_.latency +=
        std::chrono::duration_cast<Duration>(kWeight * (round_trip / 2 - link_.latency));
  }
}

Time NodeTable::NoteGives(NodeId node, Duration takes, Time now) {
  Time& until = nodes_.at(node).gives_until;
  until = std::max(until, now) + takes;
  return until;
}

void NodeTable::CountSite(const std::string& site, int more) {
  std::size_t& members = sites_[site];
  members += static_cast<std::size_t>(more);
  if (members == 0) sites_.erase(site);
}

void NodeTable::CountTold(double bytes_per_second, int more) {
  if (bytes_per_second == 0) return;
  std::size_t& members = told_[bytes_per_second];
  members += static_cast<std::size_t>(more);
  if (members == 0) told_.erase(bytes_per_second);
}

void NodeTable::NoteFastest(const NodeRecord& record) {
  const double carries = record.proven();
  if (carries == 0 || (record.info.id != fastest_ && carries < fastest_carried_)) return;
  fastest_ = record.info.id;
  fastest_carried_ = carries;
}

bool NodeTable::MayDiffer(Time now) const {
  const bool told = !told_.empty() && told_.rbegin()->first > kAlike * told_.begin()->first;
  return HasSites() || told || slow_.At(now) > 0;
}

void NodeTable::NoteShown(NodeId node, double bytes_per_second) {
  const auto entry = nodes_.find(node);
  if (entry == nodes_.end()) return;
  NodeRecord& record = entry->second;
  if (bytes_per_second > kTakesMore * record.slow.bytes_per_second) record.slow = {};
  if (bytes_per_second <= record.shown) return;
  record.shown = std::min(bytes_per_second, kFastestLink);
  NoteFastest(record);
}

void NodeTable::NoteSlow(NodeId node, double bytes_per_second, Time now) {
  slow_ = nodes_.at(node).slow = SeenNow(bytes_per_second, now);
}

void NodeTable::NoteFull(NodeId node, double bytes_per_second, Time now) {
  if (const auto entry = nodes_.find(node); entry != nodes_.end()) {
    entry->second.full = SeenNow(bytes_per_second, now);
  }
}

void NodeTable::NoteTried(NodeId node, Time now) {
  constexpr Duration kCounts = std::chrono::minutes(10);
  if (const auto entry = nodes_.find(node); entry != nodes_.end()) {
    entry->second.tried = now + kCounts;
  }
}

void NodeTable::ForgetTried(NodeId node) {
  if (const auto entry = nodes_.find(node); entry != nodes_.end()) entry->second.tried = {};
}

bool NodeTable::MayBeTried(NodeId node, Time now) const {
  const NodeRecord* record = Find(node);
  return record != nullptr && record->told == 0 && now >= record->tried &&
         record->full.At(now) == 0;
}

// A busy moment is soon forgotten; where a move takes long, so does the next sample.
Seen NodeTable::SeenNow(double bytes_per_second, Time now) const {
  constexpr Duration kCounts = std::chrono::seconds(1);
  return {bytes_per_second, now + kCounts + kMessagesUntilSeen * link_.latency};
}

double NodeTable::ProvenOf(NodeId node) const {
  const NodeRecord* record = Find(node);
  return record == nullptr ? 0 : record->proven();
}

double NodeTable::ShownOf(NodeId node, Time now) const {
  const NodeRecord* record = Find(node);
  const double slow = record == nullptr ? 0 : record->slow.At(now);
  return slow > 0 ? std::min(slow, ProvenOf(node)) : ProvenOf(node);
}

double NodeTable::SendsOf(NodeId node, Time now) const {
  const NodeRecord* record = Find(node);
  const double full = record == nullptr ? 0 : record->full.At(now);
  return full > 0 ? full : ShownOf(node, now);
}

bool NodeTable::IsBounded(NodeId node, Time now) const {
  const NodeRecord* record = Find(node);
  return record != nullptr && (LimitOf(node, now) > 0 || record->full.At(now) > 0);
}

double NodeTable::LimitOf(NodeId node, Time now) const {
  const NodeRecord* record = Find(node);
  if (record == nullptr) return 0;
  const double slow = record->slow.At(now);
  return slow > 0 && (record->told == 0 || slow < record->told) ? slow : record->told;
}

void NodeTable::NoteWay(const std::string& from, const std::string& to, double bytes_per_second) {
  ways_[{from, to}] = bytes_per_second;
}

double NodeTable::SlowestWay() const {
  double slowest = 0;
  for (const auto& [way, rate] : ways_) slowest = slowest == 0 ? rate : std::min(slowest, rate);
  return slowest;
}

double NodeTable::RateOfWay(const std::string& from, const std::string& to) const {
  if (const auto way = ways_.find({from, to}); way != ways_.end()) return way->second;
  double most = 0;
  for (const auto& [way, rate] : ways_) most = way.first == from ? std::max(most, rate) : most;
  return most;
}

double NodeTable::ExpectedToCarry(NodeId node, NodeId other) const {
  if (const double carries = ProvenOf(node); carries > 0) return carries;
  return fastest_ == other ? 0 : fastest_carried_;
}

void NodeTable::Erase(NodeId node) {
  const auto entry = nodes_.find(node);
  CloseInventory(entry->second);
  SetAlive(entry->second, false);
  by_name_.erase(entry->second.info.name);
  CountSite(entry->second.info.site, -1);
  CountTold(entry->second.told, -1);
  departed_[node] = std::move(entry->second.info.name);
  nodes_.erase(entry);
}

}  // namespace hoplite::planner
