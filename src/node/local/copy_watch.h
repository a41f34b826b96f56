// CopyWatch: wakes a call that waits for the first `wanted` bytes of a copy, when it may have them or
// never will. Not for each block before that: the node's loop would look in vain as often. Is told:
// every change of the copy, on any thread.
#pragma once

#include <cstdint>
#include <utility>

#include "node/core/operations.h"
#include "store/copy.h"

namespace hoplite::node {

class CopyWatch final : public store::CopyListener {
 public:
  // The call outlives it. wanted: at most the object's size; all of it also waits for the end.
  CopyWatch(store::CopyPtr copy, std::uint64_t wanted, Call& call)
      : copy_(std::move(copy)), wanted_(wanted), call_(call) {
    copy_->AddListener(this);
  }
  ~CopyWatch() override { copy_->RemoveListener(this); }
  CopyWatch(const CopyWatch&) = delete;
  CopyWatch& operator=(const CopyWatch&) = delete;

  void OnCopyChanged() noexcept override {
    if (copy_->state() != store::CopyState::kOpen || LastIsThere()) call_.changed.Notify();
  }

 private:
  // The last block of those wanted; others may be missing. That of the object is not the end.
  bool LastIsThere() const {
    const Layout& layout = copy_->layout();
    if (wanted_ == 0 || wanted_ == layout.size_bytes) return false;
    const std::uint64_t last = (wanted_ - 1) / layout.block_bytes;
    return copy_->mark(layout.stripe_of(last)) > layout.index_in_stripe(last);
  }

  const store::CopyPtr copy_;
  const std::uint64_t wanted_;
  Call& call_;
};

}  // namespace hoplite::node
