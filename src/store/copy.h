// Copy: one version of one object in this node's segment, complete or growing.
//
// Who writes: exactly one producer of each stripe (a Put, the fold of a reduction, a lane of a fetch
// or, where it has none, the fetch itself). Who reads: anybody who holds a shared_ptr, which is the
// pin: the memory is free again when the last one goes. Thread safety: marks, checksums, Seal, Void
// and listeners may be used from any thread; a stripe's marks are advanced by one thread at a time;
// the rest is constant or belongs to the node's loop.
//
// A copy that lies on a disk only has no bytes here. It is complete and final, has its checksums, and
// stands for a copy of the same version that was in memory (R120).
//
// Invariants
//   1. blocks below a stripe's mark are verified (their checksum is in the table) and never change;
//      of a window: until its reader took them
//   2. marks only grow; a final copy is complete; a void copy stays void
//   3. marks >= what any reader was ever told
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/layout.h"
#include "base/mutex.h"
#include "store/disk_space.h"

namespace hoplite::store {

enum class CopyState : std::uint8_t {
  kOpen,   // growing; some of its stripes may be final
  kFinal,  // complete, and END was seen (or the producer sealed): may be returned to users
  kVoid,   // its bytes are worthless: see void_reason()
};

enum class VoidReason : std::uint8_t {
  kNone,
  kAborted,
  kRecalled,
  kDeleted,
  kLost,
  kGivenBack,  // its memory is wanted elsewhere; it is made once more if it is asked for
};

// Told of every change of a copy, on the thread that made it and under the copy's lock: only wake
// somebody, never call back into the copy.
class CopyListener {
 public:
  virtual ~CopyListener() = default;
  virtual void OnCopyChanged() noexcept = 0;
};

class Copy {
 public:
  // `release` gives the memory back; called once, by whichever thread drops the last pin. If
  // `bytes` has room for a part of the object only (whole blocks), the copy is a window.
  Copy(ObjectId object, Layout layout, std::string metadata, std::span<std::byte> bytes,
       std::uint64_t segment_offset, std::function<void()> release);
  using Place = std::shared_ptr<const DiskSpace::Place>;
  // The bytes of a final copy, where they lie on a disk.
  Copy(const Copy& of, Place place);
  ~Copy();
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  const ObjectId& object() const { return object_; }
  const Layout& layout() const { return layout_; }
  const std::string& metadata() const { return metadata_; }
  std::span<std::byte> bytes() const { return bytes_; }
  std::uint64_t segment_offset() const { return segment_offset_; }

  // A window moves along the object as its one reader, who alone sees it, takes the bytes: byte b
  // lies at b modulo its size. Any thread.
  bool windowed() const { return !on_disk() && bytes_.size() < layout_.size_bytes; }
  std::uint64_t taken() const { return taken_.load(std::memory_order_acquire); }
  // The bytes before this offset have memory. It moves with a window.
  std::uint64_t room_end() const;
  // Bytes [0, prefix) were read: their memory is for those that follow. Never shrinks; wakes
  // listeners.
  void Take(std::uint64_t prefix_bytes);

  // It lies on a disk only. The number tells one version's bytes, in memory or not, from all others
  // of the process.
  bool on_disk() const { return place_ != nullptr; }
  const Place& place() const { return place_; }
  std::uint64_t number() const { return number_; }

  // Stripes that this node makes itself, of a version that a Put or a reduction makes; the others, if
  // any, are fetched. Only on the node's loop, as what follows.
  StripeMask made_here() const { return made_here_; }
  void set_made_here(StripeMask stripes) { made_here_ = stripes; }
  // The version is given when the shard accepted the creation, or by Located.
  Version version() const { return version_; }
  void set_version(Version version) { version_ = version; }
  // Somebody owns the object, or did: it goes with its last owner.
  bool ever_owned() const { return ever_owned_; }
  void set_ever_owned(bool ever_owned) { ever_owned_ = ever_owned; }
  // Goes when the copy is unlisted, or with it: so whoever counts copies learns of that.
  void set_counted(std::shared_ptr<void> counted) { counted_ = std::move(counted); }
  // The same bytes on a disk, while they lie there, too; null: they don't. It becomes void with this.
  // Set of a listed one by its store only.
  const std::shared_ptr<Copy>& spilled() const { return spilled_; }
  void set_spilled(std::shared_ptr<Copy> spilled) { spilled_ = std::move(spilled); }
  // The bytes of that copy come here, into memory: before anybody sees this one.
  void StandFor(const Copy& of);
  // It is listed in the place of that one from now on.
  void TakeOver(Copy& from);

  // Any thread. A mark read here was released after its blocks and checksums were written.
  std::uint32_t mark(std::uint32_t stripe) const;
  StripeMarks marks() const;
  std::uint64_t checksum(std::uint64_t block) const;  // of a block below its stripe's mark
  // For whoever fills a stripe: first the checksums of the new blocks, then the mark, which
  // wakes listeners.
  void SetChecksum(std::uint64_t block, std::uint64_t checksum);
  void Advance(std::uint32_t stripe, std::uint32_t mark);

  CopyState state() const;
  VoidReason void_reason() const;
  // Complete and final. Needs full marks; a second call, or one on a void copy, changes nothing and
  // gives false.
  bool Seal();
  // These stripes are, and with the last of them the copy. False on the same grounds.
  bool Seal(StripeMask stripes);
  StripeMask final_stripes() const;  // all of a final copy
  // Every block of every stripe is there, though it may not be final.
  bool whole() const { return whole_stripes_.load() == layout_.stripe_count; }
  bool Void(VoidReason reason);

  void AddListener(CopyListener* listener);
  void RemoveListener(CopyListener* listener);  // after it returns the listener is not called again

 private:
  void WakeListeners();

  const ObjectId object_;
  const Layout layout_;
  const std::string metadata_;
  const std::span<std::byte> bytes_;
  const std::uint64_t segment_offset_;
  const std::function<void()> release_;
  const Place place_;
  std::uint64_t number_;

  StripeMask made_here_ = 0;  // node's loop only, as these two
  Version version_;
  bool ever_owned_ = false;
  std::shared_ptr<void> counted_;
  std::shared_ptr<Copy> spilled_;

  std::vector<std::atomic<std::uint32_t>> marks_;
  std::vector<std::uint64_t> checksums_;  // written before the mark that covers them is released
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint32_t> whole_stripes_{0};  // how many have all their blocks
  std::atomic<StripeMask> final_stripes_{0};
  std::atomic<CopyState> state_{CopyState::kOpen};
  std::atomic<VoidReason> void_reason_{VoidReason::kNone};

  Mutex listeners_mutex_;
  std::vector<CopyListener*> listeners_ HOPLITE_GUARDED_BY(listeners_mutex_);
};

}  // namespace hoplite::store
