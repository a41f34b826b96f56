// An object that this process writes.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include <hoplite/draft.h>

#include "client/connection.h"

namespace hoplite {

// Remembers the node's word that the object can't be created.
class DraftFailure final : public client::NewsSink {
 public:
  void OnNews(const client::local::Answer& news) override;
  void OnEnd(const Error& why) override;
  std::optional<Error> error() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

class Draft::Impl {
 public:
  Impl(std::shared_ptr<client::Connection> connection, std::uint64_t made_by, const ObjectId& id,
       std::span<std::byte> bytes);
  ~Impl();

  const ObjectId& id() const { return id_; }
  std::span<std::byte> bytes() const { return bytes_; }
  Result<void> Advance(std::uint64_t prefix);
  Result<void> Seal(Time deadline);
  void Abort();

 private:
  Result<void> CheckOpen() const;
  Result<void> SealAtNode(Time deadline);

  const std::shared_ptr<client::Connection> connection_;
  const std::uint64_t made_by_;
  const ObjectId id_;
  const std::span<std::byte> bytes_;
  const std::shared_ptr<DraftFailure> failure_;
  std::uint64_t prefix_ = 0;
  bool open_ = true;
};

}  // namespace hoplite
