#include "store/object_store.h"

#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "base/mutex.h"
#include "base/text.h"
#include "base/try.h"
#include "store/victims.h"

namespace hoplite::store {

// The segment and its allocator. Thread-safe.
class ObjectStore::Pool {
 public:
  Pool(std::shared_ptr<SharedSegment> segment, std::function<void()> on_space)
      : segment_(std::move(segment)),
        on_space_(std::move(on_space)),
        allocator_(segment_->bytes().size(), segment_->reserved_bytes()) {}

  SharedSegment& segment() { return *segment_; }

  std::optional<Extent> Allocate(std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    return allocator_.Allocate(bytes);
  }

  std::optional<Extent> AllocateAtEnd(std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    return allocator_.AllocateAtEnd(bytes);
  }

  void Free(Extent extent) {
    const MutexLock lock(mutex_);
    allocator_.Free(extent);
    if (on_space_) on_space_();
  }

  void Extend(std::uint64_t reserved, bool last) {
    const MutexLock lock(mutex_);
    allocator_.Extend(reserved);
    if (last) allocator_.EndHere();
    if (on_space_) on_space_();
  }

  void ForgetOnSpace() {
    const MutexLock lock(mutex_);
    on_space_ = nullptr;
  }

  template <typename Look>
  auto WithAllocator(Look look) {
    const MutexLock lock(mutex_);
    return look(std::as_const(allocator_));
  }

 private:
  const std::shared_ptr<SharedSegment> segment_;
  Mutex mutex_;
  std::function<void()> on_space_ HOPLITE_GUARDED_BY(mutex_);
  ExtentAllocator allocator_ HOPLITE_GUARDED_BY(mutex_);
};

namespace {

// What can't go now is passed over, but not for ever.
constexpr std::size_t kMostLooks = 4096;

Error LargerThanStore(const ObjectId& object, std::uint64_t bytes, std::uint64_t capacity) {
  return Error(ErrorCode::kResourceExhausted,
               fmt::format("object {} of {} is larger than the whole store of {}", object.ToHex(),
                           FormatExactSize(bytes), FormatExactSize(capacity)));
}

Error NoRoom(const ObjectId& object, std::uint64_t bytes, const ExtentAllocator& allocator) {
  const std::uint64_t rest = allocator.not_yet_usable();
  return Error(
      ErrorCode::kResourceExhausted,
      fmt::format(
          "no room now for object {} of {}: {} of the store are free, the largest "
          "piece is {}{}",
          object.ToHex(), FormatExactSize(bytes), FormatExactSize(allocator.free_bytes()),
          FormatExactSize(allocator.largest_hole()),
          rest == 0 ? "" : fmt::format("; {} are not reserved yet", FormatExactSize(rest))));
}

Error AlreadyListed(const ObjectId& object) {
  return Error(ErrorCode::kAlreadyExists,
               fmt::format("object {} is in the store already", object.ToHex()));
}

}  // namespace

std::string StoreUsage::InWords() const {
  const std::string rest =
      not_yet_reserved_bytes == 0
          ? ""
          : fmt::format(", and {} are not reserved yet", not_yet_reserved_bytes);
  return fmt::format("{} of {} bytes are in use{}", used_bytes, capacity_bytes, rest);
}

std::string StoreUse::InWords() const {
  std::string words;
  const auto add = [&words](std::uint64_t bytes, std::string_view what) {
    if (bytes == 0) return;
    words += fmt::format("{}{} bytes {}", words.empty() ? "" : ", ", bytes, what);
  };
  add(made_here_bytes, "by objects that were put or reduced here");
  add(arriving_bytes, "by objects on their way here");
  add(pinned_bytes, "by copies that are read or sent");
  add(evictable_bytes, "by copies that may be evicted");
  add(unlisted_bytes, "by partial results, and by what was deleted and is still read");
  return words;
}

ObjectStore::ObjectStore(std::shared_ptr<SharedSegment> segment, std::function<void()> on_space)
    : pool_(std::make_shared<Pool>(std::move(segment), std::move(on_space))),
      reserver_(pool_->segment(), [pool = pool_.get()](std::uint64_t reserved, bool last) {
        pool->Extend(reserved, last);
      }) {}

ObjectStore::~ObjectStore() { pool_->ForgetOnSpace(); }

Result<CopyPtr> ObjectStore::Create(const ObjectId& object, const Layout& layout,
                                    std::string metadata, CopyKind kind) {
  TRY(layout.Validate());
  if (kind != CopyKind::kTransient && listed_.contains(object)) {
    return std::unexpected(AlreadyListed(object));
  }
  TRY_ASSIGN(CopyPtr copy, Make(object, layout, std::move(metadata), layout.size_bytes));
  if (kind != CopyKind::kTransient) TRY(List(copy, kind));
  return copy;
}

Result<CopyPtr> ObjectStore::CreateWindow(const ObjectId& object, const Layout& layout,
                                          std::string metadata, std::uint64_t window_bytes) {
  TRY(layout.Validate());
  return Make(object, layout, std::move(metadata), window_bytes);
}

std::shared_ptr<void> ObjectStore::Reserve(std::uint64_t bytes) {
  const std::optional<Extent> extent = pool_->AllocateAtEnd(bytes);
  if (!extent) return nullptr;
  return {static_cast<void*>(pool_.get()),
          [pool = pool_, extent = *extent](void*) { pool->Free(extent); }};
}

Result<CopyPtr> ObjectStore::Make(const ObjectId& object, const Layout& layout,
                                  std::string metadata, std::uint64_t bytes) {
  if (!FitsEver(bytes)) {
    return std::unexpected(LargerThanStore(object, layout.size_bytes, usage().capacity_bytes));
  }
  const std::optional<Extent> extent = pool_->Allocate(bytes);
  if (!extent) {
    return std::unexpected(pool_->WithAllocator(
        [&](const ExtentAllocator& allocator) { return NoRoom(object, bytes, allocator); }));
  }
  return std::make_shared<Copy>(
      object, layout, std::move(metadata), pool_->segment().bytes().subspan(extent->offset, bytes),
      extent->offset, [pool = pool_, extent = *extent] { pool->Free(extent); });
}

Result<void> ObjectStore::List(const CopyPtr& copy, CopyKind kind) {
  const Age age{Time::min(), created_++};
  const Extent extent = ExtentAllocator::Taken(copy->segment_offset(), copy->layout().size_bytes);
  const auto [place, listed] = listed_.try_emplace(copy->object(), Listed{copy, extent, kind, age});
  if (!listed) return std::unexpected(AlreadyListed(copy->object()));
  Enter(copy->object(), place->second);
  return {};
}

bool ObjectStore::FitsEver(std::uint64_t bytes) const {
  return pool_->WithAllocator([&](const ExtentAllocator& a) { return a.FitsEver(bytes); });
}

CopyPtr ObjectStore::Find(const ObjectId& object) const {
  const auto found = listed_.find(object);
  return found == listed_.end() ? nullptr : found->second.copy;
}

CopyKind ObjectStore::KindOf(const ObjectId& object) const {
  const auto found = listed_.find(object);
  return found == listed_.end() ? CopyKind::kTransient : found->second.kind;
}

void ObjectStore::MakePrimary(const ObjectId& object) { SetKind(object, CopyKind::kPrimary); }

void ObjectStore::MakeRelayed(const ObjectId& object) { SetKind(object, CopyKind::kRelayed); }

void ObjectStore::SetKind(const ObjectId& object, CopyKind kind) {
  const auto found = listed_.find(object);
  if (found == listed_.end()) return;
  Leave(found->second);
  found->second.kind = kind;
  Enter(object, found->second);
}

void ObjectStore::Touch(const ObjectId& object, Time now) {
  const auto found = listed_.find(object);
  if (found == listed_.end()) return;
  Leave(found->second);
  found->second.age.first = now;
  Enter(object, found->second);
}

ObjectStore::Line ObjectStore::LineOf(const Listed& listed) {
  if (listed.copy->on_disk()) return Line::kNone;
  if (listed.kind == CopyKind::kRelayed) return Line::kRelayed;
  return listed.copy->spilled() || listed.written ? Line::kLeaving : Line::kStaying;
}

// Besides those of the store and of a write. Only this thread makes a first pin (by Find), so none
// stays none.
long ObjectStore::PinsOf(const Listed& listed) {
  return listed.copy.use_count() - (listed.written ? 2 : 1);
}

void ObjectStore::Enter(const ObjectId& object, Listed& listed) {
  listed.line = LineOf(listed);
  if (listed.line == Line::kNone) return;
  In(listed.line).emplace(listed.age, object);
  if (listed.line == Line::kLeaving) leaving_bytes_ += listed.extent.size;
}

// Before anything changes that its line depends on.
void ObjectStore::Leave(Listed& listed) {
  if (listed.line == Line::kNone) return;
  In(listed.line).erase(listed.age);
  if (listed.line == Line::kLeaving) leaving_bytes_ -= listed.extent.size;
  listed.line = Line::kNone;
}

void ObjectStore::Replace(const CopyPtr& copy) {
  Listed& listed = listed_.at(copy->object());
  Leave(listed);
  copy->TakeOver(*listed.copy);
  listed.copy = copy;
  listed.written = false;
  listed.extent = copy->on_disk()
                      ? Extent{}
                      : ExtentAllocator::Taken(copy->segment_offset(), copy->layout().size_bytes);
  Enter(copy->object(), listed);
}

void ObjectStore::Remove(const ObjectId& object) {
  const auto found = listed_.find(object);
  if (found == listed_.end()) return;
  Leave(found->second);
  found->second.copy->set_counted(nullptr);
  listed_.erase(found);
}

std::vector<CopyPtr> ObjectStore::List() const {
  std::vector<CopyPtr> copies;
  copies.reserve(listed_.size());
  for (const auto& [object, listed] : listed_) copies.push_back(listed.copy);
  return copies;
}

std::vector<CopyPtr> ObjectStore::After(const std::optional<ObjectId>& object,
                                        std::size_t most) const {
  std::vector<CopyPtr> copies;
  auto next = object ? listed_.upper_bound(*object) : listed_.begin();
  for (; next != listed_.end() && copies.size() < most; ++next) copies.push_back(next->second.copy);
  return copies;
}

std::vector<ObjectId> ObjectStore::Victims(std::uint64_t bytes) const {
  if (!FitsEver(bytes)) return {};
  const auto candidate = [this](const std::pair<const Age, ObjectId>& aged) {
    const Listed& listed = listed_.at(aged.second);
    return EvictionCandidate{.object = aged.second,
                             .extent = listed.extent,
                             .relayed = true,
                             .complete = listed.copy->state() == CopyState::kFinal,
                             .pinned = PinsOf(listed) > 0};
  };
  return pool_->WithAllocator([&](const ExtentAllocator& allocator) {
    return PickVictims(In(Line::kRelayed) | std::views::transform(candidate), allocator, bytes);
  });
}

void ObjectStore::BeginSpill(const CopyPtr& copy) {
  Listed& listed = listed_.at(copy->object());
  Leave(listed);
  listed.written = true;
  Enter(copy->object(), listed);
}

void ObjectStore::SetSpilled(const CopyPtr& copy, CopyPtr spilled) {
  const auto found = listed_.find(copy->object());
  const bool here = found != listed_.end() && found->second.copy == copy;
  if (here) Leave(found->second);
  copy->set_spilled(std::move(spilled));
  if (!here) return;
  found->second.written = false;
  Enter(copy->object(), found->second);
}

ObjectStore::Outflow ObjectStore::VictimsWithDisk(std::uint64_t bytes,
                                                  const std::function<bool(const Copy&)>& evictable,
                                                  bool may_write) const {
  if (!FitsEver(bytes)) return {};
  const auto goes = [&](const Listed& listed) {
    if (listed.extent.size == 0 || PinsOf(listed) > 0) return false;
    if (listed.copy->state() != CopyState::kFinal) return false;
    return listed.line != Line::kRelayed || evictable(*listed.copy);
  };
  std::vector<Line> lines{Line::kRelayed, Line::kLeaving};
  if (may_write) lines.push_back(Line::kStaying);
  const std::vector<ObjectId> victims = pool_->WithAllocator([&](const ExtentAllocator& allocator) {
    EvictionPlan plan(allocator, bytes);
    for (const Line line : lines) {
      for (const auto& [age, object] : In(line)) {
        const Listed& listed = listed_.at(object);
        if (!goes(listed)) continue;
        if (plan.Add({.object = object, .extent = listed.extent})) return plan.Victims();
      }
    }
    return std::vector<ObjectId>();
  });
  Outflow outflow;
  for (const ObjectId& object : victims) {
    const Listed& listed = listed_.at(object);
    if (listed.line == Line::kRelayed) outflow.relayed.push_back(object);
    if (listed.line == Line::kStaying) outflow.to_spill.push_back(object);
    if (listed.line == Line::kLeaving && !listed.written) outflow.spilled.push_back(object);
  }
  return outflow;
}

CopyPtr ObjectStore::FindToSpill(const ObjectId& object) const {
  const auto found = listed_.find(object);
  if (found == listed_.end() || !ToSpill(found->second)) return nullptr;
  return found->second.copy;
}

bool ObjectStore::ToSpill(const Listed& listed) {
  return listed.line == Line::kStaying && listed.copy->state() == CopyState::kFinal &&
         listed.extent.size > 0 && PinsOf(listed) == 0;
}

void ObjectStore::VisitToSpill(const Visit& visit) const {
  std::size_t looks = 0;
  for (const auto& [age, object] : In(Line::kStaying)) {
    if (++looks > kMostLooks) return;
    const Listed& listed = listed_.at(object);
    if (ToSpill(listed) && !visit(listed.copy)) return;
  }
}

void ObjectStore::VisitInBoth(const Visit& visit) const {
  for (const auto& [age, object] : In(Line::kLeaving)) {
    const CopyPtr& copy = listed_.at(object).copy;
    const bool idle = copy->spilled() && copy->spilled().use_count() == 1;
    if (idle && !visit(copy)) return;
  }
}

StoreUsage ObjectStore::usage() const {
  return pool_->WithAllocator([this](const ExtentAllocator& allocator) {
    return StoreUsage{.capacity_bytes = allocator.capacity(),
                      .used_bytes = allocator.used_bytes(),
                      .free_bytes = allocator.free_bytes(),
                      .largest_hole_bytes = allocator.largest_hole(),
                      .not_yet_reserved_bytes = allocator.not_yet_usable(),
                      .copies = listed_.size()};
  });
}

StoreUse ObjectStore::Use() const {
  StoreUse use;
  std::optional<ObjectId> behind;
  AddUse(use, behind, listed_.size());
  const std::uint64_t used_bytes = usage().used_bytes;
  use.unlisted_bytes = used_bytes - std::min(use.listed_bytes(), used_bytes);
  return use;
}

bool ObjectStore::AddUse(StoreUse& use, std::optional<ObjectId>& behind, std::size_t most) const {
  auto next = behind ? listed_.upper_bound(*behind) : listed_.begin();
  for (; next != listed_.end() && most > 0; ++next, --most) {
    const auto& [object, listed] = *next;
    behind = object;
    const std::uint64_t bytes = listed.extent.size;
    if (listed.kind == CopyKind::kPrimary) {
      use.made_here_bytes += bytes;
    } else if (listed.copy->state() != CopyState::kFinal) {
      use.arriving_bytes += bytes;
    } else if (listed.copy.use_count() > 1) {
      use.pinned_bytes += bytes;
    } else {
      use.evictable_bytes += bytes;
    }
  }
  return next != listed_.end();
}

SharedSegment& ObjectStore::segment() { return pool_->segment(); }

}  // namespace hoplite::store
