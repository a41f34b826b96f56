// RingByHand: several whole nodes that carry out a striped reduction (R64), on the test's own thread
// and in virtual time. The test is their directory's shard: a small one, which plans a ring with a
// root for each member, sends each member that reads the target to its predecessor, and commits when
// every root has asked and some member has all bytes. What it does not do by itself the test does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/virtual_time.h"
#include "node/assembly.h"
#include "sim/seams/sim_transport.h"
#include "testing/node_by_hand.h"

namespace hoplite::testing {

class RingByHand {
 public:
  struct Options {
    std::uint32_t members = 3;
    Layout layout;
    std::uint64_t memory_bytes = 64_MiB;  // of each node
    unsigned data_threads = 1;
    net::LinkOptions link = net::LinkOptions::Immediate();
    bool commits = true;  // by itself
  };

  explicit RingByHand(const Options& options);
  // Whatever the nodes do ends, or the test fails.
  ~RingByHand();
  RingByHand(const RingByHand&) = delete;
  RingByHand& operator=(const RingByHand&) = delete;

  // --- the plan: the first one, or one that takes its place, in which everything is new.
  void Plan();
  void Commit();
  void DropSlots(std::uint32_t member);
  // The shard had lost this node, and knows nothing of its grants.
  void LoseSession(std::uint32_t node);

  // --- time. True: it came to be within a bounded time.
  bool Until(const std::function<bool()>& condition);
  void Pass(Duration time);
  // A stream on which bytes are under way, chosen by number, breaks.
  bool Break(std::uint64_t which) { return net::BreakStream(*internet_, which); }

  // --- the members
  node::Assembly& parts(std::uint32_t node) { return *nodes_[node].parts; }
  void Hear(std::uint32_t node, const protocol::NodeAction& word);
  std::vector<protocol::NodeEvent> Inventory(std::uint32_t node);
  // A call of a client there; what it was answered, once it is.
  std::shared_ptr<std::optional<Result<store::CopyPtr>>> Get(std::uint32_t node);

  // --- what is so
  const ObjectId& target() const { return target_; }
  const Layout& layout() const { return options_.layout; }
  Version version() const { return version_; }
  StripeMask EndsAt(std::uint32_t member) const;
  store::CopyPtr TargetAt(std::uint32_t node) const;
  // It is complete, says so, and has the sum of all sources.
  bool IsWhole(std::uint32_t node) const;
  // As the shard knows.
  bool HasAllBytes(std::uint32_t node) const;
  bool all_asked() const;
  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  // Words of this kind that a node has said of the target since the first.
  template <typename Word>
  std::vector<Word> Said(std::uint32_t node) const {
    std::vector<Word> words;
    for (const protocol::NodeEvent& event : nodes_[node].said) {
      if (const auto* word = std::get_if<Word>(&event)) words.push_back(*word);
    }
    return words;
  }

 private:
  struct Member {
    std::unique_ptr<node::Assembly> parts;
    DirectoryByHand* directory = nullptr;  // the node's
    protocol::NodeInfo info;
    ObjectId source;
    std::vector<protocol::NodeEvent> said{};
    StripeMarks marks{};
    std::optional<Version> asked{};
    std::optional<Version> complete{};
  };

  void AddNode();
  void PutSource(std::uint32_t node);
  void Order(std::uint32_t node, std::uint32_t slot, Version version);
  void Feed(std::uint32_t node, std::uint32_t slot, std::uint32_t child);
  void TurnAll();
  void HearAll();
  void GrantTo(std::uint32_t node, Version version);
  std::uint32_t Before(std::uint32_t member) const;
  // Slots: ring, then root of each member.
  std::uint32_t RingSlot(std::uint32_t member) const { return 2 * member + 1; }
  std::uint32_t RootSlot(std::uint32_t member) const { return 2 * member + 2; }
  protocol::SlotOrder OrderOf(std::uint32_t node, std::uint32_t slot) const;
  StripeMask StripesOf(std::uint32_t slot) const;
  static std::uint32_t NodeOf(std::uint32_t slot) { return (slot - 1) / 2; }
  Version NewVersion() { return {{1, ++stamps_}}; }

  const Options options_;
  const ObjectId target_ = ObjectId::FromName("target");
  VirtualTime time_;
  asio::io_context network_loop_;
  net::InternetPtr internet_;
  std::vector<Member> nodes_;
  std::string sum_;
  std::uint64_t stamps_ = 100;
  Version version_;
  Version committed_;
  std::vector<Version> slots_;  // by number - 1; none: not planned yet
};

}  // namespace hoplite::testing
