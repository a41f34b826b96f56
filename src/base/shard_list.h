// The shards of a directory as people write them: "H1:7000/H2:7000/H3:7000,H4:7000". A comma, or a
// place in a list, separates shards; a slash separates the members of one shard, the preferred one
// first. A single address is a shard with one member.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <hoplite/result.h>

namespace hoplite {

inline constexpr std::size_t kMaxMembers = 5;

// The addresses of one shard's members, in their order. Not empty, whatever the text is.
std::vector<std::string> MembersOf(std::string_view shard);
// The number of the shard that has a member with this very address.
std::optional<std::size_t> PlaceOf(const std::vector<std::string>& shards,
                                   const std::string& address);
//   invalid_argument  a member is no HOST:PORT, a shard has an even number of members or more than
//                     five, an address is there twice: names them
Result<void> CheckShards(const std::vector<std::string>& shards);

}  // namespace hoplite
