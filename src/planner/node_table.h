// NodeTable: the members that this shard knows, and what their links are like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "planner/words.h"

namespace hoplite::planner {

struct NodeRecord {
  NodeInfo info;
  bool alive = false;           // false: suspended
  bool inventory_open = false;  // between NodeJoined and InventoryEnd
  // When it last spoke of an inventory that it never ended, in this session or the one before.
  std::optional<Time> telling;
  StoreUsage usage;
  std::vector<Wait> waits;             // that it told
  std::uint64_t bytes_per_second = 0;  // measured rate of its link; 0: not yet
  Duration round_trip{0};              // measured, to its peers and back; 0: not yet
  Time gives_until{};  // its link has carried all that it was told to give (R85), if links are slow
  double carried = 0;  // bytes per second that came to it from sources that had more; 0: not yet
};

// A value type. Decides nothing.
class NodeTable {
 public:
  // `link`: what links are like until they were measured.
  explicit NodeTable(const LinkModel& link = {}) : link_(link) {}

  // Null: it is no member.
  const NodeRecord* Find(NodeId node) const;
  // kNoNode: nobody has that name.
  NodeId Named(const std::string& name) const;
  bool alive(NodeId node) const;
  bool AnyAlive() const { return alive_count_ > 0; }
  std::size_t alive_count() const { return alive_count_; }
  std::string NameOf(NodeId node) const;  // its id in words if it isn't known

  void Join(const NodeInfo& info, Time now);
  // A node that told part of its inventory; null: none did.
  std::optional<Time> LastTold() const;
  // A member said something: in the middle of its inventory, perhaps.
  void NoteHeard(NodeId node, Time now);
  void EndInventory(NodeId node);
  void NoteUsage(NodeId node, const StoreUsage& usage) { nodes_.at(node).usage = usage; }
  void NoteWaits(NodeId node, std::vector<Wait> waits) { nodes_.at(node).waits = std::move(waits); }
  void Suspend(NodeId node);
  // Its name is still known until ForgetDeparted.
  void Erase(NodeId node);
  void ForgetDeparted() { departed_.clear(); }

  // What a node measured of its link; 0: no sample.
  void NoteLink(NodeId node, std::uint64_t bytes_per_second, Duration round_trip);
  // What a link is like on average, by what was measured lately.
  const LinkModel& link() const { return link_; }
  // Enough was measured to believe its rate.
  bool link_is_known() const { return reports_ >= kEnoughReports; }

  // It is to give what takes its link so long. The answer: until when that and all before it does.
  Time NoteGives(NodeId node, Duration takes, Time now);

  // What a node's link was seen to carry: believed at once if it is more than before, slowly if
  // less.
  void NoteCarried(NodeId node, double bytes_per_second);
  // What should come to `node` if its source had bytes: what did before, else the most that came to
  // anybody but `other`; 0 if nothing is known.
  double ExpectedToCarry(NodeId node, NodeId other) const;

  const std::map<NodeId, NodeRecord>& nodes() const { return nodes_; }
  std::size_t open_inventories() const { return open_inventories_; }

 private:
  static constexpr std::uint64_t kEnoughReports = 20;

  void CloseInventory(NodeRecord& record);
  void SetAlive(NodeRecord& record, bool alive);

  std::map<NodeId, NodeRecord> nodes_;
  std::map<std::string, NodeId> by_name_;
  std::map<NodeId, std::string> departed_;
  std::size_t open_inventories_ = 0;
  std::size_t alive_count_ = 0;
  LinkModel link_;
  std::uint64_t reports_ = 0;  // of rates
  NodeId fastest_ = kNoNode;   // whoever was seen to carry most
  double fastest_carried_ = 0;
};

}  // namespace hoplite::planner
