// Reads bytes of a copy that lies on a disk, and compares them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "store/copy.h"
#include "store/disk.h"

namespace hoplite::store {

// From `begin` on, where a block begins, whole blocks. What can't be read, or is wrong, is read once
// more (R125). `into` stays until done.
//   unavailable  the disk's words, or that the bytes are not those that were written
void ReadSpilled(std::shared_ptr<const Copy> from, std::uint64_t begin, std::span<std::byte> into,
                 Disk::Done done);

// Whether these are the copy's bytes from there on.
bool Matches(const Copy& copy, std::uint64_t begin, std::span<const std::byte> bytes);

}  // namespace hoplite::store
