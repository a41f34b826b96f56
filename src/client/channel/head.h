// Head: what the register of a channel holds: which version is the newest, and of which objects.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/register.h>
#include <hoplite/result.h>

namespace hoplite::client {

// A random name of one opening by a publisher.
using Claim = std::array<std::uint8_t, 16>;

Claim RandomClaim();

struct Head {
  Claim claim{};
  std::uint64_t version = 0;
  // The newest first, which has the manifest; older ones, which some of its parts lie in. None: a
  // successor found the version gone.
  std::vector<ObjectId> objects;
};

// As many as a register's value has room for.
inline constexpr std::size_t kMostObjects =
    (kMaxRegisterBytes - sizeof(Claim) - sizeof(std::uint64_t)) / ObjectId::kBytes;

std::string Packed(const Head& head);
// None: nobody has claimed the channel yet.
//   invalid_argument  it is no channel's head
Result<std::optional<Head>> HeadOf(const RegisterEntry& entry);

}  // namespace hoplite::client
