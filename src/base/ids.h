// Identifiers of members and of attempts. Each has its own type, so mixing them does not compile.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace hoplite {

// A node process; new (random) at every process start, so a restarted process on the same port
// never answers for its predecessor. 0 names nobody.
enum class NodeId : std::uint64_t {};
inline constexpr NodeId kNoNode{0};

constexpr std::uint64_t Raw(NodeId id) { return static_cast<std::uint64_t>(id); }
NodeId RandomNodeId();
std::uint64_t RandomId();         // never 0
std::string ToString(NodeId id);  // 16 hexadecimal digits

// Given by a directory shard: (incarnation of the shard, sequence), so values of a restarted shard
// are always newer than those of its predecessor. The zero value is "none yet".
struct Stamp {
  std::uint64_t incarnation = 0;
  std::uint64_t sequence = 0;

  constexpr explicit operator bool() const { return incarnation != 0; }
  friend constexpr auto operator<=>(const Stamp&, const Stamp&) = default;
};
std::string ToString(const Stamp& stamp);  // "incarnation.sequence"

// An attempt to create an object. Bytes of two versions are never combined.
struct Version : Stamp {
  friend constexpr auto operator<=>(const Version&, const Version&) = default;
};

// Permission to pull a set of stripes of one version from one source.
struct GrantId : Stamp {
  friend constexpr auto operator<=>(const GrantId&, const GrantId&) = default;
};

}  // namespace hoplite

template <>
struct std::hash<hoplite::NodeId> {
  std::size_t operator()(hoplite::NodeId id) const noexcept { return hoplite::Raw(id); }
};
