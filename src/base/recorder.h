// Recorder: what a member decided lately, kept whatever happens, so that it is there when somebody asks
// afterwards. Of 64 KiB: the newest decision takes the place of the oldest.
//
// Is told by one thread. Any thread may read, also while that one hangs; what is overwritten meanwhile
// is left out. Must never: take a lock, grow, or make who tells it wait.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <hoplite/object_id.h>

#include "base/time.h"

namespace hoplite {

// On the wire, so only added to.
enum class Decided : std::uint8_t {
  // Of a node; the text names its peer, or says why.
  kAsked = 1,    // its shard, where an object is
  kGranted = 2,  // a source to this node
  kMoved = 3,    // the same, in the place of another source
  kResumed = 4,  // at bytes that were there
  kFailed = 5,   // a stream, and why
  kComplete = 6,
  kRecalled = 7,
  kDeleted = 8,
  kReduces = 9,   // a client's reduction began
  kReduced = 10,  // it ended, and how
  kReset = 11,    // a slot of a reduction started again here
  kSession = 12,  // with a shard: began or ended
  kSlot = 13,     // of a reduction, which this node takes
  kNamed = 14,    // what a client puts here has that name
  // Of a shard; the text names the node, and whom it is served by, or says how.
  kGrants = 20,
  kMoves = 21,
  kRecalls = 22,
  kSlotLost = 23,
  kJoined = 24,
  kSessionEnded = 25,
  kNodeLost = 26,
  kRefused = 27,
};
inline constexpr Decided kLastDecided = Decided::kRefused;
// "granted", "session ended", ...; empty: there is none of this number.
std::string_view Name(Decided what);

struct Recorded {
  Time when;
  Decided what = Decided::kAsked;
  ObjectId object;  // all zero: of none
  std::string text;

  friend bool operator==(const Recorded&, const Recorded&) = default;
};

class Recorder {
 public:
  static constexpr std::size_t kEntries = 512;
  static constexpr std::size_t kTextBytes = 90;  // what is longer is cut

  void Note(Decided what, const ObjectId& object, std::string_view text, Time now);
  // The oldest first.
  std::vector<Recorded> Read() const;

 private:
  // A decision's number, and its bytes. The number is 0 while the bytes change.
  struct Entry {
    std::atomic<std::uint64_t> number{0};
    std::array<std::atomic<std::uint64_t>, 15> words{};
  };
  static_assert(sizeof(Entry) == 128);

  using Entries = std::array<Entry, kEntries>;
  const std::unique_ptr<Entries> entries_ = std::make_unique<Entries>();
  std::uint64_t noted_ = 0;  // the writer's own
};

}  // namespace hoplite
