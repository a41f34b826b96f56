// Registers: small values with a number, each kept by the shard of its name while some node has it
// open. What nodes and the shard say of them (R90-R96 of docs/protocol.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <hoplite/object_id.h>

#include "base/ids.h"

namespace hoplite::protocol {

inline constexpr std::size_t kMostRegisterBytes = 1024;

// A write's own name, by which a repeated one is known again.
struct RegisterAttempt {
  NodeId node = kNoNode;
  std::uint64_t number = 0;  // of that node and shard; only grows
  friend bool operator==(const RegisterAttempt&, const RegisterAttempt&) = default;
};

// What a register holds since its last write.
struct RegisterContents {
  Version version;  // of that write: the register's number; none: nobody wrote it yet
  Version claim;    // of the last write whose client became the register's writer by it
  std::string value;
  RegisterAttempt attempt;
  friend bool operator==(const RegisterContents&, const RegisterContents&) = default;
};

struct CompareAndSet {
  Version expected;  // done only if this is the register's number
  std::string value;
  bool claims = false;  // its client is the register's writer from then on, and nobody else
  friend bool operator==(const CompareAndSet&, const CompareAndSet&) = default;
};

// A client's request. Answered once, by RegisterNews with its number.
struct RegisterCall {
  std::uint64_t number = 0;
  std::optional<CompareAndSet> write;  // none: it asks what the register holds
  friend bool operator==(const RegisterCall&, const RegisterCall&) = default;
};

// Node to shard: all that the node has of a register, in place of what it said before. Said when
// some of it changes, and in each inventory.
struct RegisterUse {
  ObjectId object;
  std::uint64_t number = 0;  // of this word; only grows, also across sessions
  bool open = false;         // a client of the node has it open; false: nothing else counts
  Version claim;             // of the write by which a client there is its writer; none: none is
  std::optional<RegisterContents>
      knows;  // in the first word of a session: what the node heard last
  std::optional<RegisterCall> call;
};

enum class RegisterOutcome : std::uint8_t {
  kNews = 1,      // no call is answered
  kRead = 2,      // the call asked what the register holds
  kWritten = 3,   // the call's write was done
  kConflict = 4,  // the register had another number
  kLimit = 5,     // the node has too many registers open, and not this one; it is no call's answer
};

// Shard to node: what the register holds, to each node that has it open: once in each session, after
// each change, and in answer to a call.
struct RegisterNews {
  ObjectId object;
  RegisterContents entry;
  bool writer = false;  // the client that claimed it last still has it open
  RegisterOutcome outcome = RegisterOutcome::kNews;
  std::uint64_t call = 0;  // the number of the call that this answers; 0: of none
};

}  // namespace hoplite::protocol
