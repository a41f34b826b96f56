// NodeTable: the members that this shard knows, and what their links are like.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// Rates within this factor are alike.
inline constexpr double kAlike = 1.5;
// A stream may take so much more than was seen.
inline constexpr double kTakesMore = 1.1;

// Of a move: until the old stream has ended, the next one has begun, and its bytes are reported.
inline constexpr int kMessagesUntilSeen = 12;

// What was seen to be a limit.
struct Seen {
  double bytes_per_second = 0;
  Time until{};  // so long it counts; a stream that goes on shows it again

  // 0: nothing, lately.
  double At(Time now) const { return now < until ? bytes_per_second : 0; }
};

struct NodeRecord {
  NodeInfo info;
  bool alive = false;           // false: suspended
  bool inventory_open = false;  // between NodeJoined and InventoryEnd
  // When it last spoke of an inventory that it never ended, in this session or the one before.
  std::optional<Time> telling;
  StoreUsage usage;
  std::vector<Wait> waits;             // that it told
  std::uint64_t bytes_per_second = 0;  // measured rate of its link; 0: not yet
  Time rate_told{};                    // when that was heard last
  Duration round_trip{0};              // measured, to its peers and back; 0: not yet
  Time gives_until{};  // its link has carried all that it was told to give (R83), if links are slow
  // Of its link, in bytes per second; 0: not known.
  double told = 0;   // what it says
  double shown = 0;  // what came to it, or went from it, for sure
  Seen slow;         // it brought no more although the source had much more to spare
  Time tried{};      // until then its link is not tried again
  Seen full;         // it took no more although each receiver could take much more

  double proven() const { return told > 0 ? told : shown; }
  // Since its measured rate was heard, a day at most; 0: none was.
  Duration RateAge(Time now) const {
    constexpr Duration kMost = std::chrono::hours(24);
    return bytes_per_second > 0 ? std::clamp<Duration>(now - rate_told, Duration{0}, kMost)
                                : Duration{0};
  }
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
  void NoteLink(NodeId node, std::uint64_t bytes_per_second, Duration round_trip, Time now);
  // What a link is like on average, by what was measured lately.
  const LinkModel& link() const { return link_; }
  // Enough was measured to believe its rate.
  bool link_is_known() const { return reports_ >= kEnoughReports; }

  // It is to give what takes its link so long. The answer: until when that and all before it does.
  Time NoteGives(NodeId node, Duration takes, Time now);

  // So much came to it, or went from it: its link carries that.
  void NoteShown(NodeId node, double bytes_per_second);
  // No more came to it although its source was shown to have much more to spare.
  void NoteSlow(NodeId node, double bytes_per_second, Time now);
  // No more went from it although each of its receivers was shown to take much more.
  void NoteFull(NodeId node, double bytes_per_second, Time now);
  // One more receiver tries what it sends; or it sends more, and there may be still more.
  void NoteTried(NodeId node, Time now);
  void ForgetTried(NodeId node);
  // What its link carries was not told, nor tried lately.
  bool MayBeTried(NodeId node, Time now) const;
  // So much went from one site to another, which had more.
  void NoteWay(const std::string& from, const std::string& to, double bytes_per_second);

  // What its link was told, or shown, to carry; 0: nothing is known.
  double ProvenOf(NodeId node) const;
  // The same, if it was not seen lately to carry less: brought to it, and sent.
  double ShownOf(NodeId node, Time now) const;
  double SendsOf(NodeId node, Time now) const;
  // More does not come to it, as it was told or seen lately; 0: nobody knows.
  double LimitOf(NodeId node, Time now) const;
  // What it sends was told, or seen lately to be all.
  bool IsBounded(NodeId node, Time now) const;
  // Two members have sites that differ, or links that were told or seen to.
  bool MayDiffer(Time now) const;
  // Members stand in several sites.
  bool HasSites() const { return sites_.size() > 1; }
  // Of those that were measured; until one was: 0.
  double SlowestWay() const;
  // As measured; of one that was not, the most that another way out of that site carried; 0: none
  // was measured.
  double RateOfWay(const std::string& from, const std::string& to) const;
  // What should come to `node` if its source had bytes: what did before, else the most that came to
  // anybody but `other`; 0 if nothing is known.
  double ExpectedToCarry(NodeId node, NodeId other) const;

  const std::map<NodeId, NodeRecord>& nodes() const { return nodes_; }
  std::size_t open_inventories() const { return open_inventories_; }

 private:
  static constexpr std::uint64_t kEnoughReports = 20;

  // What a node tells of its link counts within these bounds, in bytes per second.
  static constexpr double kSlowestLink = 1.25e5;
  static constexpr double kFastestLink = 1.25e11;

  void CloseInventory(NodeRecord& record);
  void CountSite(const std::string& site, int more);
  void CountTold(double bytes_per_second, int more);
  void SetAlive(NodeRecord& record, bool alive);
  void NoteFastest(const NodeRecord& record);
  Seen SeenNow(double bytes_per_second, Time now) const;

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
  NodeId fastest_ = kNoNode;  // whose link was told, or shown, to carry most
  double fastest_carried_ = 0;
  Seen slow_;  // whoever was seen last to be limited
};

}  // namespace hoplite::planner
