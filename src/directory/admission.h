// Admission: whether a node that says Hello belongs to this shard's cluster, and by which id the
// shard goes (docs/protocol.md, R44).
//
// Decides: the id; which nodes wait because they know this shard by another one; which can never
// join (protocol, name of the cluster, number and place of the shard). Must never decide by the
// spelling of an address, nor take another id twice in a life. Members has the nodes' names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "wire/directory_session.h"

namespace hoplite::directory {

// What a shard with a state file still knows after a restart.
struct ShardState {
  std::uint64_t id = 0;           // by which its nodes know it; not 0
  std::uint64_t incarnation = 0;  // of this life, above that of every earlier one (R1)
  friend bool operator==(const ShardState&, const ShardState&) = default;
};
// What the next life begins with. The clock may have gone back.
ShardState NextLife(const std::optional<ShardState>& kept, std::uint64_t drawn_id,
                    std::uint64_t clock);

class Admission {
 public:
  struct Settings {
    std::vector<std::string> shards = {};  // empty: this one alone
    std::string cluster = {};
    std::string address = {};  // of this shard
    ShardState state;          // of this life, as it begins
    bool certain = false;      // the id is that of an earlier life, by the shard's state file
    // Called with each change of the state before it is used; an error is why it can't be kept.
    // Null: the state need not outlive the shard.
    std::function<Result<void>(const ShardState&)> keep = {};
  };
  explicit Admission(Settings settings);

  // None: the node belongs here, as far as it is known. Refusals name both sides' values.
  std::optional<wire::Ended> Admit(const wire::Hello& hello);

  std::uint64_t id() const { return state_.id; }

 private:
  std::optional<Error> CheckForGood(const wire::Hello& hello) const;
  bool Disagrees(const wire::Hello& hello) const;

  const Settings settings_;
  ShardState state_;
  std::string witness_;  // who says that the id is right; empty: nobody yet
};

}  // namespace hoplite::directory
