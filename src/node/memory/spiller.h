// Spiller: writes what was put here to a disk when somebody finds no memory, and lets its memory go
// (docs/protocol.md: R120, R125).
//
// planner::SpillState decides when, ObjectStore which copies make room; this carries the bytes. Is
// told: who found no room. Must never: give memory away before the write of its bytes has ended, and
// what was written matched its checksums; or touch a copy that anybody reads. On the node's main loop
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "directory/directory_client.h"
#include "net/deadline.h"
#include "node/memory/disk_pieces.h"
#include "node/memory/loop_gate.h"
#include "planner/node/spill_state.h"
#include "store/disk_space.h"
#include "store/object_store.h"

namespace hoplite::node {

class Spiller {
 public:
  struct Settings {
    std::string node;  // for the log
    std::uint64_t limit_bytes = 0;
    std::uint64_t gather_below = 0;  // such objects share a write
  };
  struct Hooks {
    std::function<void()> on_room;  // there may be memory, or room on the disk, that was not
    // A copy can't be read any more.
    std::function<void(const store::CopyPtr& copy)> on_lost;
  };
  // What happened since the start.
  struct Counts {
    std::uint64_t written_bytes = 0;
    std::uint64_t written_objects = 0;
    std::uint64_t failed_writes = 0;
    std::uint64_t lost_copies = 0;
  };

  Spiller(store::ObjectStore& store, directory::DirectoryClient& directory, asio::io_context& main,
          std::shared_ptr<store::Disk> disk, std::unique_ptr<planner::SpillState> state,
          Settings settings, Hooks hooks);
  ~Spiller();
  Spiller(const Spiller&) = delete;
  Spiller& operator=(const Spiller&) = delete;

  // What would make room for so much, the disk's help counted. A look that took long is not repeated
  // at once: then nothing, while writes are under way.
  store::ObjectStore::Outflow Outflow(std::uint64_t bytes);
  // Somebody wants it: what lies on the disk, too, leaves memory; the rest is written.
  void MakeRoom(std::uint64_t bytes, const store::ObjectStore::Outflow& outflow);

  // Whether a write would make room for so much, and none is under way: for tests, which know for how
  // long.
  bool idle(std::uint64_t bytes) const;

  // When the disk last did something for whoever waits for memory.
  Time moved_at() const;
  // For whoever waits: "4096 of 65536 bytes of /tmp/spill are in use, and it is full".
  std::string InWords() const;
  const Counts& counts() const { return counts_; }
  std::uint64_t used_bytes() const { return space_->used_bytes(); }
  std::uint64_t limit_bytes() const { return space_->limit_bytes(); }
  std::size_t writes() const { return state_->under_way(); }
  const std::shared_ptr<DiskPieces>& pieces() const { return pieces_; }
  const std::shared_ptr<LoopGate>& gate() const { return gate_; }
  // The copy that is listed lies elsewhere now: the shard hears of it, together with others (R124).
  void NoteMoved(const ObjectId& object);
  // It could not be read, here or for others. On the main loop.
  void OnUnreadable(const store::CopyPtr& copy, const Error& why);

 private:
  struct Job;
  using Copies = std::vector<store::CopyPtr>;

  store::ObjectStore::Outflow Look(std::uint64_t bytes) const;

  void Advance();
  Copies NextToWrite(Time now);
  store::CopyPtr NextChosen();
  void Gather(Copies& copies, std::uint64_t most);
  bool Begin(Copies copies, Time now);
  std::vector<store::DiskSpace::PlacePtr> Reserve(Copies& copies);
  bool Forget(std::uint64_t bytes);
  void OnWritten(Job& job);
  bool OnDone(const store::CopyPtr& copy, store::Copy::Place place);
  void OnFailed(const store::Copy& first, std::size_t objects, const Error& why);
  void Leave(const ObjectId& object);
  void OnRoom();
  void TellMoved();

  store::ObjectStore& store_;
  directory::DirectoryClient& directory_;
  const Settings settings_;
  const Hooks hooks_;
  asio::io_context& main_;
  const std::shared_ptr<LoopGate> gate_;
  const std::shared_ptr<store::DiskSpace> space_;
  const std::shared_ptr<DiskPieces> pieces_;
  const std::unique_ptr<planner::SpillState> state_;
  Counts counts_;
  std::deque<ObjectId> chosen_;  // to be written for a want of so much
  std::uint64_t chosen_for_ = 0;
  Time looks_again_ = Time::min();
  std::optional<Time> begun_at_;  // of the last write
  std::string last_failure_;
  std::set<ObjectId> moved_;  // and the shards have not heard of it
  std::optional<net::Deadline> tells_;
};

}  // namespace hoplite::node
