#include "planner/node_table.h"

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

void NodeTable::Join(const NodeInfo& info, Time now) {
  NodeRecord& record = nodes_[info.id];
  if (!record.info.name.empty()) by_name_.erase(record.info.name);
  CloseInventory(record);
  record.info = info;
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
void NodeTable::NoteLink(NodeId node, std::uint64_t bytes_per_second, Duration round_trip) {
  constexpr double kWeight = 0.1;
  NodeRecord& member = nodes_.at(node);
  if (bytes_per_second > 0) {
    member.bytes_per_second = bytes_per_second;
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

void NodeTable::NoteCarried(NodeId node, double bytes_per_second) {
  constexpr double kDown = 0.2;
  double& carried = nodes_.at(node).carried;
  carried += (bytes_per_second < carried ? kDown : 1) * (bytes_per_second - carried);
  if (node != fastest_ && carried < fastest_carried_) return;
  fastest_ = node;
  fastest_carried_ = carried;
}

double NodeTable::ExpectedToCarry(NodeId node, NodeId other) const {
  const NodeRecord* record = Find(node);
  if (record != nullptr && record->carried > 0) return record->carried;
  return fastest_ == other ? 0 : fastest_carried_;
}

void NodeTable::Erase(NodeId node) {
  const auto entry = nodes_.find(node);
  CloseInventory(entry->second);
  SetAlive(entry->second, false);
  by_name_.erase(entry->second.info.name);
  departed_[node] = std::move(entry->second.info.name);
  nodes_.erase(entry);
}

}  // namespace hoplite::planner
