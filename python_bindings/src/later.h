// PutLater: a put under way. It holds the caller's buffers, which are read until it is done, or
// given up. Ending: the end of a client's connection, for who does something about it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <hoplite/future.h>

#include "client/question.h"
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

// Made and destroyed with the GIL.
class Ending {
 public:
  explicit Ending(std::unique_ptr<client::Question> question) : question_(std::move(question)) {}
  Ending(Ending&&) noexcept = default;
  Ending& operator=(Ending&&) = delete;
  ~Ending();

  // Raises why it has ended.
  void Wait() const;

 private:
  std::unique_ptr<client::Question> question_;
};

}  // namespace hoplite::python
