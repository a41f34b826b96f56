#include "store/spilled_read.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"

namespace hoplite::store {
namespace {

void Read(std::shared_ptr<const Copy> from, std::uint64_t begin, std::span<std::byte> into,
          Disk::Done done, int times_left) {
  const Copy& copy = *from;
  const std::uint64_t at = copy.place()->offset() + begin;
  copy.place()->disk().Read(
      at, into, [=, from = std::move(from), done = std::move(done)](const Result<void>& read) {
        if (read && Matches(*from, begin, into)) return done({});
        if (times_left > 0) return Read(from, begin, into, done, times_left - 1);
        if (!read) return done(read);
        done(std::unexpected(Error(ErrorCode::kUnavailable, "read: these bytes were not written")));
      });
}

}  // namespace

bool Matches(const Copy& copy, std::uint64_t begin, std::span<const std::byte> bytes) {
  const std::uint64_t block_bytes = copy.layout().block_bytes;
  for (std::uint64_t at = 0; at < bytes.size(); at += block_bytes) {
    const auto block = bytes.subspan(at, std::min<std::uint64_t>(block_bytes, bytes.size() - at));
    if (BlockChecksum(block) != copy.checksum((begin + at) / block_bytes)) return false;
  }
  return true;
}

void ReadSpilled(std::shared_ptr<const Copy> from, std::uint64_t begin, std::span<std::byte> into,
                 Disk::Done done) {
  Read(std::move(from), begin, into, std::move(done), 1);
}

}  // namespace hoplite::store
