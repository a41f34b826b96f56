// An object that this process writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <hoplite/draft.h>

#include "base/mutex.h"
#include "client/connection.h"
#include "client/pieces.h"

namespace hoplite {

// Remembers the node's word that the object can't be created.
class DraftFailure final : public client::NewsSink {
 public:
  void OnNews(const client::local::Answer& news) override;
  void OnEnd(const Error& why) override;
  std::optional<Error> error() const;

 private:
  mutable Mutex mutex_;
  std::optional<Error> error_ HOPLITE_GUARDED_BY(mutex_);
};

class Draft::Impl {
 public:
  // What asks for one; `made_by` is the request's id. And what its answer makes.
  static client::local::Request Request(const client::Connection& connection, std::uint64_t made_by,
                                        const ObjectId& id, std::uint64_t size_bytes,
                                        const CreateOptions& options);
  static Result<std::unique_ptr<Impl>> Of(const std::shared_ptr<client::Connection>& connection,
                                          std::uint64_t made_by, const ObjectId& id,
                                          std::uint64_t size_bytes,
                                          const client::local::Answer& answer);
  Impl(std::shared_ptr<client::Connection> connection, std::uint64_t made_by, const ObjectId& id,
       std::span<std::byte> bytes, std::uint32_t block_bytes);
  ~Impl();

  const ObjectId& id() const { return id_; }
  std::span<std::byte> bytes() const { return bytes_; }
  // checksums: of the blocks that became whole, or none: then the node computes them.
  Result<void> Advance(std::uint64_t prefix, std::span<const std::uint64_t> checksums);
  // Writes all of it, passing on what is written already; not all if `stop` is set meanwhile.
  Result<void> Write(const client::Pieces& contents, const std::atomic<bool>* stop = nullptr);
  Result<void> Seal(Time deadline);
  // The same without waiting for the node's answer, which Sealed is told.
  Result<client::PendingPtr> BeginSeal(Time deadline);
  void Sealed() { open_ = false; }
  // As Draft::SealAsync.
  static Future<ObjectId> SealLater(std::unique_ptr<Impl> draft, Time deadline);
  void Abort();

 private:
  struct Sealing;
  Result<void> CheckOpen() const;

  const std::shared_ptr<client::Connection> connection_;
  const std::uint64_t made_by_;
  const ObjectId id_;
  const std::span<std::byte> bytes_;
  const std::uint32_t block_bytes_;
  const std::shared_ptr<DraftFailure> failure_;
  std::uint64_t prefix_ = 0;
  bool open_ = true;
};

}  // namespace hoplite
