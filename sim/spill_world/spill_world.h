// SpillWorld: two or three nodes whose stores are full, every object one unit, and clients with fixed
// scripts. It says what may happen next in a state, by the rules R120-R125 or by those without a disk, or
// with one of them broken.
//
// Decides nothing but what may happen; SpillSearch takes every order. Left out: blocks, the directory's
// delays, partial copies. A model of its own, which shows that the rules end: that the nodes follow them
// shows the node world. Pure.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace hoplite::sim {

struct SpillRules {
  std::uint8_t disk = 0;  // units of each node; 0: none
  bool writes_fail = false;
  // Planted, each by its opposite.
  bool serves_from_file = true;       // R121: else a copy is restored before it is served
  bool memory_before_thread = true;   // R122: else a restore takes the only thread, then waits
  bool waits_unpinned = true;         // R123: else a slot keeps its source pinned while it waits
  bool restored_may_go = true;        // R122: else what was read back stays
  bool frees_at_end = true;           // R120: else memory goes when the write begins
  bool file_stays_while_read = true;  // R121: else a file goes although a stream reads it
  bool folds_from_file = true;        // R123: else a slot's own source is restored first
};

struct SpillCall {
  enum class Kind : std::uint8_t { kPut, kGet, kRelease, kDelete, kReduce };
  Kind kind;
  std::uint8_t object;
  std::vector<std::uint8_t> sources = {};  // of a sum
};

struct SpillScript {
  std::uint8_t node;
  std::vector<SpillCall> calls;
};

struct SpillScenario {
  std::vector<SpillScript> clients;
  std::uint8_t nodes = 2;
  std::uint8_t memory = 2;  // units of each
  SpillRules rules = {};
};

class SpillWorld {
 public:
  static constexpr std::size_t kMostNodes = 3;
  static constexpr std::size_t kMostObjects = 8;
  static constexpr std::size_t kMostClients = 3;

  enum class Memory : std::uint8_t { kNone, kComing, kThere };
  enum class File : std::uint8_t { kNone, kComing, kThere };
  // Of bytes that come to memory, or how they came.
  enum class From : std::uint8_t { kNobody, kDisk, kKept, kFold, kNode };  // kNode + its number
  struct Copy {
    bool listed = false;
    bool relayed = false;
    bool dead = false;
    Memory memory = Memory::kNone;
    File file = File::kNone;
    std::uint8_t pins = 0;   // of clients and slots
    std::uint8_t lanes = 0;  // of streams out of it
    std::uint8_t from = 0;   // From
    bool has_bytes() const { return listed && (memory == Memory::kThere || file == File::kThere); }
    auto operator<=>(const Copy&) const = default;
  };
  enum class Phase : std::uint8_t { kAsked, kReady, kFolds };
  struct Node {
    std::array<Copy, kMostObjects> copies;
    bool broken = false;        // its disk
    std::uint8_t restores = 0;  // by the thread that holds no memory yet: 1 + the object
    auto operator<=>(const Node&) const = default;
  };
  struct State {
    std::array<Node, kMostNodes> nodes;
    std::array<std::uint8_t, kMostClients> calls{};  // that have ended
    std::array<Phase, kMostClients> phases{};
    auto operator<=>(const State&) const = default;
  };
  struct Step {
    const char* name;
    std::uint8_t node;
    std::uint8_t object;
    State after;
  };

  explicit SpillWorld(SpillScenario scenario) : is_(std::move(scenario)) {}

  std::vector<Step> Steps(const State& state) const;
  bool Ended(const State& state) const;
  // What must never be; empty: it is not.
  std::string Broken(const State& state) const;

 private:
  struct Look;  // at one state, for the next
  const SpillScenario is_;
};

}  // namespace hoplite::sim
