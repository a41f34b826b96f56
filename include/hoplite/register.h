// Register: a small value with a number, which many may read and compare and set. Elections,
// barriers, rendezvous and configuration are built on it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <hoplite/export.h>
#include <hoplite/future.h>
#include <hoplite/options.h>
#include <hoplite/register_number.h>
#include <hoplite/result.h>

namespace hoplite {

// What a register may hold.
inline constexpr std::size_t kMaxRegisterBytes = 1024;

// What a register holds.
struct RegisterEntry {
  RegisterNumber number;    // of the write that it is of
  std::string value;        // at most kMaxRegisterBytes; empty: perhaps nobody wrote it yet
  bool has_writer = false;  // whoever claimed it last has it open, and did not die
};

// What became of a write.
struct RegisterWrite {
  bool written = false;  // false: the register had another number
  RegisterEntry entry;   // what it wrote; or what the register holds instead
};

// Of a CompareAndSet.
struct CompareAndSetOptions {
  // With the write this handle becomes the register's writer, and whoever was so before is not any
  // more. The answer waits until the writer's node before has heard of it, or was lost.
  bool writer = false;
  std::chrono::milliseconds timeout = kForever;  // how long the call may take
};

// Of a Changed.
struct ChangedOptions {
  // Not answered when the writer is gone: another may come.
  bool only_later = false;
  std::chrono::milliseconds timeout = kForever;  // how long the call may take
};

// A register that is open here. It lives in the directory as long as somebody has it open, and is
// forgotten with the last: it is no place to store things. Closed when destroyed, when the client is
// closed, and when its process dies; while it lives it counts as a copy of its client. Any thread; a
// waiting thread sleeps.
//
// It outlives restarts of its directory shard: nodes that have it open tell the shard what it held.
// The shard then answers nothing for two seconds. A node that is away from its shard for longer than
// the lease and the grace (DirectoryConfig) may come back to a register of another writer.
//
// Order: a Get gives no older entry than anybody was given, and no older one than was acknowledged to
// anybody, before it began. Of calls that overlap, of two clients, either may be answered first,
// whichever was done first.
//
// Errors that every call may answer: timeout; cancelled; unavailable (the connection to the node
// ended, and the register is closed: open it again); invalid_argument; resource_exhausted (the node
// has as many open as the directory allows).
class HOPLITE_EXPORT Register {
 public:
  Register();  // empty: each call answers invalid_argument
  Register(Register&&) noexcept;
  Register& operator=(Register&&) noexcept;
  ~Register();

  // What it holds after this call began.
  Result<RegisterEntry> Get(const CallOptions& options = {}) const;
  // Returns at once.
  Future<RegisterEntry> GetAsync(const CallOptions& options = {}) const;
  // Sets the value, if the register still has this number. A write that was done is answered so, also
  // if somebody wrote after it, or claimed the register, before the answer. A write that ends with an
  // error may have been done: Get tells. One that was done may be refused in one case: its answer was
  // lost with a session, somebody wrote after it, and before the next session the shard was started
  // again or gave up this node.
  //   invalid_argument  the value is too long
  Result<RegisterWrite> CompareAndSet(RegisterNumber expected, std::string_view value,
                                      const CompareAndSetOptions& options = {}) const;
  // Returns at once.
  Future<RegisterWrite> CompareAndSetAsync(RegisterNumber expected, std::string_view value,
                                           const CompareAndSetOptions& options = {}) const;
  // Waits for a later number, and gives the newest entry that this node has heard of (others may have
  // read a later one: Get asks the shard); what came between is skipped. Gives the
  // entry as it is, without a writer, when somebody had claimed the register and is gone.
  Result<RegisterEntry> Changed(RegisterNumber after, const ChangedOptions& options = {}) const;
  // Returns at once.
  Future<RegisterEntry> ChangedAsync(RegisterNumber after,
                                     const ChangedOptions& options = {}) const;

 private:
  friend class Client;
  friend class ClientAccess;
  struct State;
  explicit Register(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace hoplite
