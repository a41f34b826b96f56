// Draft: an object that is being written in place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <hoplite/elements.h>
#include <hoplite/export.h>
#include <hoplite/future.h>
#include <hoplite/object_id.h>
#include <hoplite/options.h>
#include <hoplite/result.h>

namespace hoplite {

// Memory that the library gives, to compute into: it lies in the node's store, and nothing is copied
// when it is sealed. What was advanced past is being passed on already, so write front to
// back and leave it alone afterwards. Destroying an unsealed Draft aborts it. One thread at a time.
//
//   hoplite::Draft draft = client.Create(id, count * sizeof(float)).value();
//   for (float& x : draft.as<float>().value()) x = next();
//   auto made = draft.Seal();
class HOPLITE_EXPORT Draft {
 public:
  using EndsItsViews = void;  // Result: no -> of a temporary
  Draft();                    // empty: no bytes, and each call answers invalid_argument
  Draft(Draft&&) noexcept;
  Draft& operator=(Draft&&) noexcept;
  ~Draft();

  const ObjectId& id() const&;  // of the object that this becomes
  ObjectId id() const&& { return id(); }
  // All bytes of the object; must not be touched after Seal or Abort.
  std::span<std::byte> data() const&;
  std::span<std::byte> data() const&& = delete;
  // The same as numbers: as<float>(). Their type is noted by PutOptions::dtype of Create, not here.
  //   invalid_argument  they are no whole numbers of that type
  template <Storable T>
  Result<std::span<T>> as() const& {
    return ElementsOf<T>(data());
  }
  template <Storable T>
  Result<std::span<T>> as() const&& = delete;
  // Bytes [0, prefix_bytes) are written. Costs one small message: per MiB is often enough.
  //   invalid_argument         the prefix shrinks, or is beyond the end
  //   already_exists, deleted  the object can't be created: stop writing
  Result<void> Advance(std::uint64_t prefix_bytes);
  // All bytes are written. When it returns every node can get the object, also when this process
  // is gone.
  //   already_exists, deleted  the object can't be created
  //   invalid_argument         it was sealed or aborted before
  Result<void> Seal(std::chrono::milliseconds timeout = kForever);
  // The same; returns at once, and takes the draft over, which is empty then. Destroying the future
  // before it is ready aborts it.
  Future<ObjectId> SealAsync(std::chrono::milliseconds timeout = kForever);
  // Gives the memory back; nobody will ever see the object. Idempotent.
  void Abort();

 private:
  friend class Client;
  friend class ClientAccess;
  class Impl;
  explicit Draft(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoplite
