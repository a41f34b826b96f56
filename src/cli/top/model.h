// Model: from what shards answered, look after look, to what the screen shows. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/result.h>
#include <hoplite/status.h>

#include "base/ids.h"
#include "base/time.h"
#include "cli/transfer_rates.h"
#include "protocol/views.h"

namespace hoplite::cli::top {

// What one shard said last.
struct ShardLook {
  std::string address;
  Time at{};         // of its last answer; the start of the clock: there was none
  std::string away;  // why the last question had no answer; empty: it had one
  std::vector<protocol::NodeView> nodes;
  std::vector<protocol::ObjectView> objects;  // under way
  std::uint64_t object_count = 0;             // also those that are not
  ProcessUse process = {};                    // of the shard
  protocol::ShardMembers members = {};        // of the shard, where there are several
  bool all = true;                            // what is under way is all here
  // Of the object that is followed, if it is one of this shard.
  std::optional<Result<protocol::ObjectView>> followed = {};
};

struct NodeRow {
  std::string name;
  std::string address;
  std::string trouble;  // "lost 4 s ago", "silent for 5 s"; empty: none
  std::uint64_t used_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> in_rate;  // bytes per second; none: not known
  std::optional<std::uint64_t> out_rate;
  ProcessUse process = {};
  std::optional<double> processors;  // that it keeps busy; none: not known
  std::size_t fetches = 0;           // objects on their way to it
  std::size_t waits = 0;             // objects that its clients wait for and that nobody sends it
};

struct ObjectRow {
  ObjectInfo object;
  std::vector<std::optional<std::uint64_t>> rates;  // of its transfers, in their order
};

struct Picture {
  std::vector<NodeRow> nodes;        // by name
  std::vector<ObjectRow> objects;    // under way, those with most streams and waiters first
  std::vector<std::string> remarks;  // what is missing; who holds a shard
  std::uint64_t object_count = 0;    // also those that are not under way
  std::optional<Result<ObjectRow>> followed = {};
};

// A node that was lost stays on the screen for so long.
inline constexpr Duration kRemembered = std::chrono::seconds(60);
// Nodes tell each second how they are.
inline constexpr Duration kSilent = std::chrono::seconds(3);

class Model {
 public:
  // Of a node that was lost before the first look.
  void Remember(const std::string& lost, Time when) { lost_[lost] = {{.name = lost}, when}; }
  void Look(Time now, const std::vector<ShardLook>& shards);
  const Picture& picture() const { return picture_; }
  // A node without trouble has not told twice how it is.
  bool lacks_rates() const;

 private:
  struct Seen {
    protocol::StoreUsage usage;
    Time told{};  // when that was seen first
    std::optional<std::uint64_t> in_rate;
    std::optional<std::uint64_t> out_rate;
    std::optional<double> processors;
  };
  struct Lost {
    NodeRow row;
    Time when{};
  };
  struct ShardRates {
    Time at{};
    TransferRates rates;
  };
  using Nodes = std::map<NodeId, NodeRow>;

  Nodes LookAtNodes(Time now, const std::vector<ShardLook>& shards);
  void NoteUsage(NodeId node, const protocol::StoreUsage& usage, Time now);
  void NoteLosses(const Nodes& nodes, Time now);
  void FillRows(Nodes nodes, Time now);
  void CompareVersions(const std::vector<ShardLook>& shards);
  void LookAtObjects(const std::vector<ShardLook>& shards);
  ObjectRow RowOf(const protocol::ObjectView& view, const TransferRates& rates) const;
  void CountStreams();

  std::map<NodeId, Seen> seen_;
  Nodes last_;  // of the last look that a shard answered
  std::map<std::string, Lost> lost_;
  std::vector<ShardRates> rates_;  // by shard
  Picture picture_;
};

}  // namespace hoplite::cli::top
