// PutLater: a put under way. It holds the caller's buffers, which are read until it is done, or
// given up.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <hoplite/future.h>

#include "held_buffer.h"

namespace hoplite::python {

// Made and destroyed with the GIL.
class PutLater {
 public:
  PutLater(std::unique_ptr<HeldPieces> pieces, Future<ObjectId> future)
      : pieces_(std::move(pieces)), future_(std::move(future)) {}
  PutLater(PutLater&&) noexcept = default;
  PutLater& operator=(PutLater&&) = delete;
  ~PutLater();

  ObjectId Wait();
  bool ready() const { return future_->ready(); }
  void OnReady(std::function<void()> function) const;
  void Cancel();

 private:
  std::unique_ptr<HeldPieces> pieces_;
  std::optional<Future<ObjectId>> future_;
};

}  // namespace hoplite::python
