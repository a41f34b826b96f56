// ObjectStore: which copies this node has, within a capacity that is never exceeded.
//
// Decides: where in the segment a copy lies (warm memory first). Is told: create, find, remove,
// touch. Must never: free memory that anybody still pins, evict by itself (only the directory may
// permit that: the node asks Victims, asks the shard, then calls Remove), or give out more than its
// capacity. On the node's loop only, except that the memory of a dropped copy comes back from any
// thread. What of the segment is not reserved yet is reserved in the background; until then it is
// given to nobody.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/layout.h"
#include "base/time.h"
#include "store/copy.h"
#include "store/extent_allocator.h"
#include "store/reserver.h"
#include "store/segment.h"

namespace hoplite::store {

using CopyPtr = std::shared_ptr<Copy>;

enum class CopyKind : std::uint8_t {
  kPrimary,    // made here, by Put or by a reduction: stays until Delete
  kRelayed,    // came over the network: may be evicted when complete, unpinned and permitted
  kTransient,  // an inline object's bytes for those who read them now: never listed, never found
};

struct StoreUsage {
  std::uint64_t capacity_bytes = 0;
  std::uint64_t used_bytes = 0;  // allocated, copies still pinned after their removal included
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_hole_bytes = 0;      // of the free ones, those that lie together
  std::uint64_t not_yet_reserved_bytes = 0;  // neither used nor free
  std::size_t copies = 0;                    // on a disk or not

  std::string InWords() const;  // "4096 of 65536 bytes are in use"
};

// What memory is used for, and so what would bring it back.
struct StoreUse {
  std::uint64_t made_here_bytes = 0;  // put or reduced here: until they are deleted
  std::uint64_t arriving_bytes = 0;
  std::uint64_t pinned_bytes = 0;     // came from others, and are read or sent
  std::uint64_t evictable_bytes = 0;  // the other ones, if the directory permits it
  std::uint64_t unlisted_bytes = 0;   // partial results; what was deleted, but is still read

  std::uint64_t listed_bytes() const {
    return made_here_bytes + arriving_bytes + pinned_bytes + evictable_bytes;
  }
  std::string InWords() const;  // "100 bytes by objects that were put or reduced here, ..."
};

class ObjectStore {
 public:
  // on_space runs on the thread that freed or reserved memory: only wake somebody.
  ObjectStore(std::shared_ptr<SharedSegment> segment, std::function<void()> on_space);
  // Afterwards on_space is not called any more; copies that are pinned stay valid.
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  // Memory for a whole object, listed under its id (kTransient: unlisted).
  //   resource_exhausted  no room now (evict, or wait for more to be reserved, and try again),
  //                       or larger than the whole store
  //                       (never): the message says both sizes; FitsEver tells which
  //   already_exists      a copy of this id is listed
  Result<CopyPtr> Create(const ObjectId& object, const Layout& layout, std::string metadata,
                         CopyKind kind);
  // A window on an object that never fits, unlisted; errors as above.
  Result<CopyPtr> CreateWindow(const ObjectId& object, const Layout& layout, std::string metadata,
                               std::uint64_t window_bytes);
  // Memory that nobody may use until the answer is gone, for a moment: it lies where it is in no
  // object's way. Null: there is none.
  std::shared_ptr<void> Reserve(std::uint64_t bytes);
  bool FitsEver(std::uint64_t bytes) const;
  // Lists an unlisted (kTransient) copy of this store from now on; already_exists as above.
  Result<void> List(const CopyPtr& copy, CopyKind kind);

  CopyPtr Find(const ObjectId& object) const;     // null if none; does not touch its age
  CopyKind KindOf(const ObjectId& object) const;  // of an unlisted id: kTransient
  // These four do nothing for an unlisted id.
  void MakePrimary(const ObjectId& object);
  void MakeRelayed(const ObjectId& object);
  void Touch(const ObjectId& object, Time now);  // used now: the last to be evicted
  // Lists this copy in the place of the listed one, of the same version: in memory, or on a disk only.
  void Replace(const CopyPtr& copy);
  // Unlists; the memory returns when the last pin goes.
  void Remove(const ObjectId& object);
  std::vector<CopyPtr> List() const;  // ordered by id
  // The next ones by id, at most so many.
  std::vector<CopyPtr> After(const std::optional<ObjectId>& object, std::size_t most) const;
  // Whether any listed id is such.
  template <typename Such>
  bool HasAny(Such such) const {
    return std::ranges::any_of(listed_ | std::views::keys, such);
  }

  // Least recently used first: complete, relayed, unpinned copies whose removal would make room for
  // `bytes`; empty if nothing helps. A pin is any pointer to the copy besides the store's own.
  std::vector<ObjectId> Victims(std::uint64_t bytes) const;

  // --- copies that go to a disk (node::Spiller)

  // The bytes of a listed copy are being written, which pins it once.
  void BeginSpill(const CopyPtr& copy);
  // They lie there, too, or don't, if null. Of a copy that is not listed, too.
  void SetSpilled(const CopyPtr& copy, CopyPtr spilled);
  // Victims, if others may go to a disk, too, which are asked for after all relayed ones: first those
  // that lie there already or are on their way; then, if `may_write`, the others. Of the listed copies
  // in memory.
  struct Outflow {
    std::vector<ObjectId> relayed;
    std::vector<ObjectId> spilled;   // lie on the disk, too
    std::vector<ObjectId> to_spill;  // do not, and are not on their way
  };
  Outflow VictimsWithDisk(std::uint64_t bytes, const std::function<bool(const Copy&)>& evictable,
                          bool may_write) const;
  // The memory of those that lie on a disk, too, or are on their way.
  std::uint64_t leaving_bytes() const { return leaving_bytes_; }
  // What could be written: complete, not relayed, in no use, and in memory only. Null: this one can't.
  CopyPtr FindToSpill(const ObjectId& object) const;
  // Least recently used first, some thousand of them at most, until `visit` is false.
  using Visit = std::function<bool(const CopyPtr& copy)>;
  void VisitToSpill(const Visit& visit) const;
  // Those that lie on a disk, too, and are in no use there.
  void VisitInBoth(const Visit& visit) const;

  StoreUsage usage() const;
  StoreUse Use() const;  // looks at every copy
  // The same of the next copies by id, at most so many, of which `behind` is the last, but for what is
  // unlisted. False: that were all.
  bool AddUse(StoreUse& use, std::optional<ObjectId>& behind, std::size_t most) const;
  SharedSegment& segment();

 private:
  void SetKind(const ObjectId& object, CopyKind kind);
  Result<CopyPtr> Make(const ObjectId& object, const Layout& layout, std::string metadata,
                       std::uint64_t bytes);

  class Pool;  // the memory; shared with the copies, whose last pin may outlive the store
  // Copies that were never touched come first, in order of creation.
  using Age = std::pair<Time, std::uint64_t>;
  // Copies in memory stand in one of these, those that go first in the first.
  enum class Line : std::uint8_t { kRelayed, kLeaving, kStaying, kNone };
  struct Listed {
    CopyPtr copy;
    Extent extent;
    CopyKind kind;
    Age age;
    Line line = Line::kNone;
    bool written = false;  // to a disk, now
  };
  using OldestFirst = std::map<Age, ObjectId>;

  static Line LineOf(const Listed& listed);
  static long PinsOf(const Listed& listed);
  static bool ToSpill(const Listed& listed);
  void Enter(const ObjectId& object, Listed& listed);
  void Leave(Listed& listed);
  const OldestFirst& In(Line line) const { return lines_.at(static_cast<std::size_t>(line)); }
  OldestFirst& In(Line line) { return lines_.at(static_cast<std::size_t>(line)); }

  const std::shared_ptr<Pool> pool_;
  std::map<ObjectId, Listed> listed_;
  std::array<OldestFirst, 3> lines_;
  std::uint64_t leaving_bytes_ = 0;
  std::uint64_t created_ = 0;
  const Reserver reserver_;  // last: it ends before the rest goes
};

}  // namespace hoplite::store
