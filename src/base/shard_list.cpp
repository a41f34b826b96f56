#include "base/shard_list.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"

namespace hoplite {
namespace {

// Where an address stands.
struct Seat {
  std::size_t shard;
  std::size_t member;
};

std::string InWords(const Seat& seat) {
  return fmt::format("member {} of shard {}", seat.member, seat.shard);
}

std::unexpected<Error> NoList(std::string what) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, std::move(what)));
}

// More than half of an even number is as many as of the odd number above it.
Result<void> CheckCount(std::size_t shard, std::string_view text, std::size_t members) {
  if (members % 2 == 1 && members <= kMaxMembers) return {};
  return NoList(fmt::format("shard {}, '{}', has {} members: 1, 3 or {} are possible", shard,
                            text.substr(0, 128), members, kMaxMembers));
}

}  // namespace

std::vector<std::string> MembersOf(std::string_view shard) {
  std::vector<std::string> members;
  for (;;) {
    const std::size_t slash = shard.find('/');
    members.emplace_back(shard.substr(0, slash));
    if (slash == std::string_view::npos) return members;
    shard.remove_prefix(slash + 1);
  }
}

std::optional<std::size_t> PlaceOf(const std::vector<std::string>& shards,
                                   const std::string& address) {
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    if (std::ranges::count(MembersOf(shards[shard]), address) > 0) return shard;
  }
  return std::nullopt;
}

Result<void> CheckShards(const std::vector<std::string>& shards) {
  std::map<std::string, Seat> seats;
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    const std::vector<std::string> members = MembersOf(shards[shard]);
    for (std::size_t member = 0; member < members.size(); ++member) {
      TRY(ParseHostPort(members[member]));
      const Seat seat{shard, member};
      const auto [first, added] = seats.try_emplace(members[member], seat);
      if (!added) {
        return NoList(fmt::format("'{}' is there twice: as {} and as {}", members[member],
                                  InWords(first->second), InWords(seat)));
      }
    }
    TRY(CheckCount(shard, shards[shard], members.size()));
  }
  return {};
}

}  // namespace hoplite
