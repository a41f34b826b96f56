// Patched: memory of this process in which parts are put together of their old bytes and patches.
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <span>

#include <hoplite/result.h>

#include "base/try.h"
#include "client/channel/manifest.h"
#include "client/channel/patch.h"

namespace hoplite::client {

class Patched {
 public:
  using BytesAt = std::function<Result<std::span<const std::byte>>(const Place&)>;

  // The part as it is now, in memory that lasts as long as this.
  Result<std::span<std::byte>> Make(std::span<const std::byte> old_bytes, const Lying& lying,
                                    const BytesAt& bytes_at) {
    const std::span<std::byte> made = Allocate(old_bytes.size());
    if (!made.empty()) std::memcpy(made.data(), old_bytes.data(), made.size());
    for (const Place& place : lying.patches) {
      TRY_ASSIGN(const auto patch, bytes_at(place));
      TRY(Apply(patch, lying.element_bytes, made));
    }
    return made;
  }

 private:
  struct alignas(kPartAlignment) Line {
    std::byte bytes[kPartAlignment];
  };
  std::span<std::byte> Allocate(std::size_t bytes) {
    const std::size_t lines = Aligned(bytes) / kPartAlignment;
    auto& memory = memory_.emplace_back(std::make_unique_for_overwrite<Line[]>(lines));
    return std::as_writable_bytes(std::span(memory.get(), lines)).first(bytes);
  }

  std::deque<std::unique_ptr<Line[]>> memory_;
};

}  // namespace hoplite::client
