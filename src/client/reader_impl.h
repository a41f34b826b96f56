// An object that this process reads while it arrives.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <hoplite/reader.h>

#include "client/connection.h"

namespace hoplite {

class Reader::Impl {
 public:
  // From the View that answered the Open `made_by`; releases it. Of a window `bytes` are its
  // memory.
  Impl(std::shared_ptr<client::Connection> connection, std::uint64_t made_by, const ObjectId& id,
       std::span<const std::byte> bytes, const client::local::View& view);
  ~Impl();

  const ObjectId& id() const { return id_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::uint64_t size() const { return size_; }  // of the object
  const std::string& metadata() const { return metadata_; }
  std::uint64_t prefix() const { return prefix_; }
  bool Has(std::uint64_t bytes) const;

  // Ask asks for the first `bytes` bytes without waiting, and says that the first `taken` are not
  // read any more. Finish waits for the answer, which moves prefix().
  client::PendingPtr Ask(std::uint64_t bytes, std::uint64_t taken, Time deadline);
  Result<void> Finish(const client::PendingPtr& asked, std::uint64_t bytes, Time deadline);
  Result<std::span<const std::byte>> WaitFor(std::uint64_t bytes, Time deadline);
  // Copies to the start of `into`, which has room for all, as bytes arrive; until final.
  Result<void> CopyInto(std::span<std::byte> into, Time deadline);

 private:
  Result<void> Copy(std::span<std::byte> into, std::uint64_t from, std::uint64_t to) const;

  const std::shared_ptr<client::Connection> connection_;
  const std::uint64_t made_by_;
  const ObjectId id_;
  const std::uint64_t size_;
  const std::span<const std::byte> bytes_;
  const std::string metadata_;
  std::uint64_t prefix_;
  bool final_;
};

}  // namespace hoplite
