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
  double told = 0;     // bytes per second that it says its link carries; 0: nothing
  // Bytes per second that its link brings, as it was told or seen, and takes, as it was seen; 0: not
  // known.
  double carries = 0;
  double sends = 0;
  Time was_limit{};  // when its link was last seen to bring no more than that
  Time was_full{};   // and to take no more, or more than was believed
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
  // Empty: it told none, or is no member.
  const std::string& SiteOf(NodeId node) const;
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

  // So much came to a node whose source had more: what its link carries, and so sends at most.
  void NoteCarried(NodeId node, double bytes_per_second, Time now);
  // So much came to it: its link is not slower.
  void NoteProven(NodeId node, double bytes_per_second);
  // So much went from it; `all`: its link carries no more.
  void NoteSent(NodeId node, double bytes_per_second, Time now, bool all);
  // As much as it carries, where nothing else was seen lately. 0: not known.
  double SendsOf(NodeId node, Time now) const;
  // So much went from one site to another, which had more.
  void NoteWay(const std::string& from, const std::string& to, double bytes_per_second);
  // What its link may carry: more than is believed, if nobody saw lately that it was the limit. Else a
  // belief that was wrong once would be kept by those places that it leads to. 0: not known.
  double MayCarry(NodeId node, Time now) const;
  // Two members have sites, or told links, that differ.
  bool MayDiffer() const;
  // Members stand in several sites.
  bool HasSites() const { return sites_.size() > 1; }
  // Of those that were measured; until one was: 0.
  double SlowestWay() const;
  // 0: not known.
  double RateOfWay(const std::string& from, const std::string& to) const;
  // What should come to `node` if its source had bytes: what did before, else the most that came to
  // anybody but `other`; 0 if nothing is known.
  double ExpectedToCarry(NodeId node, NodeId other) const;

  const std::map<NodeId, NodeRecord>& nodes() const { return nodes_; }
  std::size_t open_inventories() const { return open_inventories_; }

 private:
  static constexpr std::uint64_t kEnoughReports = 20;

  // So long it counts what was seen to be the limit.
  static constexpr Duration kLately = std::chrono::seconds(10);
  // What a node tells of its link counts within these bounds, in bytes per second.
  static constexpr double kSlowestLink = 1.25e5;
  static constexpr double kFastestLink = 1.25e11;
  // Rates within this factor are alike.
  static constexpr double kAlike = 1.5;

  void CloseInventory(NodeRecord& record);
  void CountSite(const std::string& site, int more);
  void CountTold(double bytes_per_second, int more);
  void Believe(NodeRecord& record, double bytes_per_second);
  void SetAlive(NodeRecord& record, bool alive);

  std::map<NodeId, NodeRecord> nodes_;
  std::map<std::string, NodeId> by_name_;
  std::map<NodeId, std::string> departed_;
  std::size_t open_inventories_ = 0;
  std::size_t alive_count_ = 0;
  LinkModel link_;
  std::uint64_t reports_ = 0;                 // of rates
  std::map<std::string, std::size_t> sites_;  // how many members are in each
  std::map<double, std::size_t> told_;        // rates of links, and how many members told each
  std::map<std::pair<std::string, std::string>, double> ways_;
  NodeId fastest_ = kNoNode;  // whoever was seen to carry most
  double fastest_carried_ = 0;
};

}  // namespace hoplite::planner
