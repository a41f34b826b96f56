#include "client/channel/head.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/try.h"

namespace hoplite::client {
namespace {

constexpr std::size_t kFixed = sizeof(Claim) + sizeof(std::uint64_t);

static_assert(std::endian::native == std::endian::little);

}  // namespace

Claim RandomClaim() {
  Claim claim{};
  std::ranges::copy_n(ObjectId::Random().bytes().begin(), claim.size(), claim.begin());
  return claim;
}

std::string Packed(const Head& head) {
  std::string packed(kFixed, '\0');
  std::memcpy(packed.data(), head.claim.data(), head.claim.size());
  std::memcpy(packed.data() + sizeof(Claim), &head.version, sizeof(head.version));
  for (const ObjectId& object : head.objects) packed += object.view();
  return packed;
}

Result<std::optional<Head>> HeadOf(const RegisterEntry& entry) {
  if (!entry.number) return std::nullopt;
  const std::string& packed = entry.value;
  if (packed.size() < kFixed || (packed.size() - kFixed) % ObjectId::kBytes != 0) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                 "the register of this name holds no channel's head, but " +
                                     std::to_string(packed.size()) + " other bytes"));
  }
  Head head;
  std::memcpy(head.claim.data(), packed.data(), head.claim.size());
  std::memcpy(&head.version, packed.data() + sizeof(Claim), sizeof(head.version));
  for (std::size_t at = kFixed; at < packed.size(); at += ObjectId::kBytes) {
    TRY_ASSIGN(const ObjectId object,
               ObjectId::FromBytes(std::string_view(packed).substr(at, ObjectId::kBytes)));
    head.objects.push_back(object);
  }
  return head;
}

}  // namespace hoplite::client
