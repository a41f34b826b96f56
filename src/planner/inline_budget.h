// InlineBudget: the bytes of small objects that lie in the directory, within their limits (R16).
//
// Decides: whether an object's bytes are kept. Is told: those bytes, and when they go. Must never:
// keep more than the total limit. A value type; the bytes themselves are in the objects' records.
#pragma once

#include <cstdint>

#include "planner/object_record.h"

namespace hoplite::planner {

class InlineBudget {
 public:
  InlineBudget(std::uint64_t limit_bytes, std::uint64_t total_limit_bytes)
      : limit_bytes_(limit_bytes), total_limit_bytes_(total_limit_bytes) {}

  // Whether they were kept.
  bool Keep(ObjectRecord& record, const InlineBytes& bytes) {
    if (bytes == nullptr || record.inline_bytes != nullptr) return false;
    const bool fits =
        bytes->size() <= limit_bytes_ && total_bytes_ + bytes->size() <= total_limit_bytes_;
    if (!fits) return false;
    record.inline_bytes = bytes;
    record.inline_read = false;
    total_bytes_ += bytes->size();
    return true;
  }
  void Drop(ObjectRecord& record) {
    if (record.inline_bytes != nullptr) total_bytes_ -= record.inline_bytes->size();
    record.inline_bytes = nullptr;
  }

  std::uint64_t total_bytes() const { return total_bytes_; }
  std::uint64_t total_limit_bytes() const { return total_limit_bytes_; }

 private:
  std::uint64_t limit_bytes_;
  std::uint64_t total_limit_bytes_;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace hoplite::planner
