// InventoryTeller: how far a session's inventory is told (R15).
//
// The inventory is taken from the node part by part, in order of object id, as the session has
// room: copies and requests first, then InventoryEnd, then, in the background, the bytes of small
// copies that the directory keeps. Meanwhile the node goes on: what happens to an object that was
// told already is said at once. What happens to one that was not is not said; instead that object's
// part of the inventory, which is the truth, is told out of turn, as soon as the node's step is
// over.
//
// Decides: what of the inventory is next, and which events may be said. Is told: sessions, events,
// how far the shard took the bytes. Must never tell an object twice in a session: the shard's
// answer to the first telling may be under way. On the node's loop; knows no session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>

#include "directory/directory_client.h"

namespace hoplite::directory {

class InventoryTeller {
 public:
  using Events = std::vector<protocol::NodeEvent>;

  // hooks must outlive the last call.
  InventoryTeller(std::size_t shard, const DirectoryClient::Hooks& hooks)
      : shard_(shard), hooks_(hooks) {}

  // A session with this life of the shard. Bytes that this life took are not told again: they stay
  // there, whatever becomes of the node.
  void Begin(std::uint64_t incarnation);

  // False: the event is not to be said; TakeDue has what is, after the present step of the node.
  bool MaySay(const protocol::NodeEvent& event);
  Events TakeDue();

  // The next part of the inventory, of about so many bytes; the last has InventoryEnd. Null: all
  // was told.
  std::optional<Events> Next(std::size_t bytes);
  // The same of the bytes of small copies.
  std::optional<Events> NextBytes(std::size_t bytes);
  // BytesSent: the newest of these bytes left the outbox as its byte number `sent`. Taken: the
  // shard took in all up to byte number `taken`.
  void BytesSent(std::uint64_t sent) { under_way_.push_back({sent, told_bytes_}); }
  void Taken(std::uint64_t taken);
  void NoRoomForBytes() { more_bytes_ = false; }

 private:
  // How far something got: nothing; up to an object; all.
  struct Reach {
    std::optional<ObjectId> object;
    bool all = false;
    bool Covers(const ObjectId& other) const { return all || (object && other <= *object); }
    static Reach To(const DirectoryClient::Part& part) {
      return {part.reached, !part.reached.has_value()};
    }
  };
  struct BytesUnderWay {
    std::uint64_t sent;
    Reach reach;
  };

  const std::size_t shard_;
  const DirectoryClient::Hooks& hooks_;

  Reach told_;
  std::set<ObjectId> told_early_;  // beyond told_
  std::set<ObjectId> due_;
  Events questions_;  // that no inventory repeats

  std::uint64_t incarnation_ = 0;
  Reach told_bytes_;
  Reach taken_bytes_;
  std::deque<BytesUnderWay> under_way_;
  bool more_bytes_ = false;  // the shard has room for them
};

}  // namespace hoplite::directory
