// What a node tells of its host to whoever examines the cluster, and whether it reaches a peer: what
// follows a Check frame.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <hoplite/result.h>

namespace hoplite::wire {

struct CheckUp {
  std::string version;                // of its program
  std::uint64_t since_epoch_us = 0;   // the time of day at its host
  std::uint64_t available_bytes = 0;  // memory that its process could still take
  std::string limited_by;             // whose limit that is, in words
  std::uint64_t descriptors = 0;      // open now
  std::uint64_t descriptor_limit = 0;
  std::uint64_t reached_us = 0;  // what a connection to the peer took; 0: it was not reached
  std::string unreached;  // why not, in words; empty: it was reached, or nobody was asked for

  friend bool operator==(const CheckUp&, const CheckUp&) = default;
};

std::string EncodeCheckUp(const CheckUp& told);
// `protocol` errors name what was wrong.
Result<CheckUp> DecodeCheckUp(std::span<const std::byte> bytes);

}  // namespace hoplite::wire
