// The C++ side of View, PrivateView and Draft.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include <hoplite/buffer.h>
#include <hoplite/draft.h>

namespace hoplite::python {

// One view that pins an object, among those of this process.
class Counted {
 public:
  explicit Counted(std::uint64_t bytes);
  Counted(Counted&& other) noexcept : bytes_(std::exchange(other.bytes_, std::nullopt)) {}
  Counted& operator=(Counted&&) = delete;
  ~Counted();

 private:
  std::optional<std::uint64_t> bytes_;
};

// What to add to the error of who found the store full; empty: nothing.
std::string ViewsOfThisProcess();

// An object's bytes to write to, for this process alone.
class PrivateView {
 public:
  explicit PrivateView(PrivateBuffer buffer)
      : buffer_(std::move(buffer)), counted_(buffer_.size()) {}
  PrivateView(PrivateView&&) noexcept = default;
  PrivateView& operator=(PrivateView&&) = delete;
  ~PrivateView();

  std::span<const std::byte> bytes() const { return buffer_.bytes(); }

 private:
  PrivateBuffer buffer_;
  Counted counted_;
};

class View {
 public:
  explicit View(Buffer buffer) : buffer_(std::move(buffer)), counted_(buffer_.size()) {}
  View(View&&) noexcept = default;
  View& operator=(View&&) = delete;
  ~View();

  ObjectId id() const { return buffer_.id(); }
  const std::string& metadata() const { return buffer_.metadata(); }
  std::span<const std::byte> bytes() const { return buffer_.bytes(); }
  PrivateView MapPrivate() const;

 private:
  Buffer buffer_;
  Counted counted_;
};

// A Draft that remembers what became of it. The memory stays mapped while it lives, also after
// Seal: whoever still writes through an old view harms the object, but not this process.
class OpenDraft {
 public:
  explicit OpenDraft(Draft draft) : draft_(std::move(draft)) {}

  ObjectId id() const { return draft_.id(); }
  std::span<const std::byte> bytes() const { return draft_.data(); }
  bool open() const { return state_ == State::kOpen; }
  std::uint64_t advanced() const { return advanced_; }  // bytes from the first on
  const char* state() const;
  void Advance(std::uint64_t prefix_bytes);
  void Seal(std::optional<double> timeout);
  void Abort();

 private:
  enum class State : std::uint8_t { kOpen, kSealed, kAborted };
  Draft& draft();

  Draft draft_;
  State state_ = State::kOpen;
  std::uint64_t advanced_ = 0;
};

}  // namespace hoplite::python
