#include "node/local/holdings.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"

namespace hoplite::node {
namespace {

constexpr const char* kRemedy =
    "release what it reads, delete or disown what it put, or start the node with a larger";

std::string InWords(pid_t pid) { return pid == 0 ? "this client" : fmt::format("process {}", pid); }

}  // namespace

// Ends its part of the count. As a pin it has the copy, too.
class Holdings::Hold {
 public:
  Hold(const store::CopyPtr& copy, As as)
      : copy_(copy->number()),
        bytes_(copy->bytes().size()),
        as_(as),
        pin_(as == As::kPinned ? copy : nullptr) {}
  ~Hold() {
    if (const auto by = by_.lock()) by->Drop(copy_, bytes_, as_);
  }
  // From now on it counts.
  void Count(std::weak_ptr<Holdings> by) { by_ = std::move(by); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  std::weak_ptr<Holdings> by_;
  const std::uint64_t copy_;
  const std::uint64_t bytes_;
  const As as_;
  const store::CopyPtr pin_;
};

Holdings::Use Holdings::use() const {
  const MutexLock lock(mutex_);
  return use_;
}

Result<void> Holdings::Allow(std::uint64_t bytes) const {
  const MutexLock lock(mutex_);
  return AllowLocked(bytes);
}

Result<void> Holdings::AllowLocked(std::uint64_t bytes) const {
  if (quota_.bytes > 0 && (use_.bytes > quota_.bytes || bytes > quota_.bytes - use_.bytes)) {
    return std::unexpected(
        Error(ErrorCode::kResourceExhausted,
              fmt::format("{} holds {} in {} objects, and {} more are beyond its quota of {}: {} "
                          "--quota",
                          InWords(pid_), FormatSize(use_.bytes), use_.objects, FormatSize(bytes),
                          FormatSize(quota_.bytes), kRemedy)));
  }
  if (quota_.objects > 0 && use_.objects >= quota_.objects) {
    return std::unexpected(
        Error(ErrorCode::kResourceExhausted,
              fmt::format("{} holds {} objects, and its quota is {}: {} --quota-objects",
                          InWords(pid_), use_.objects, quota_.objects, kRemedy)));
  }
  return {};
}

Result<store::CopyPtr> Holdings::Pin(const store::CopyPtr& copy) {
  TRY_ASSIGN(std::shared_ptr<Hold> hold, Take(copy, As::kPinned));
  return store::CopyPtr(std::move(hold), copy.get());
}

Result<void> Holdings::Make(const store::CopyPtr& copy) {
  TRY_ASSIGN(std::shared_ptr<Hold> hold, Take(copy, As::kMade));
  copy->set_counted(std::move(hold));
  return {};
}

Result<std::shared_ptr<Holdings::Hold>> Holdings::Take(const store::CopyPtr& copy, As as) {
  auto hold = std::make_shared<Hold>(copy, as);
  const std::uint64_t bytes = copy->bytes().size();
  const MutexLock lock(mutex_);
  if (!held_.contains(copy->number())) TRY(AllowLocked(bytes));
  const auto [at, is_new] = held_.try_emplace(copy->number());
  Count& count = at->second;
  ++count.holds;
  if (is_new) {
    use_.bytes += bytes;
    ++use_.objects;
  }
  if (as == As::kPinned && count.pins++ == 0) use_.pinned_bytes += bytes;
  hold->Count(weak_from_this());
  return hold;
}

void Holdings::Drop(std::uint64_t copy, std::uint64_t bytes, As as) {
  const MutexLock lock(mutex_);
  Count& count = held_.at(copy);
  if (as == As::kPinned && --count.pins == 0) use_.pinned_bytes -= bytes;
  if (--count.holds > 0) return;
  held_.erase(copy);
  use_.bytes -= bytes;
  --use_.objects;
}

}  // namespace hoplite::node
