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
  bool final() const { return final_; }
  bool Has(std::uint64_t bytes) const;

  // Asks for the first `bytes` bytes without waiting, and says that the first `taken` are not read
  // any more.
  client::PendingPtr Ask(std::uint64_t bytes, std::uint64_t taken, Time deadline);
  // That is answered: moves prefix().
  void Grew(const client::local::Answer& answer, std::uint64_t bytes);
  Result<std::span<const std::byte>> WaitFor(std::uint64_t bytes, Time deadline);
  // What to ask for next to copy all of it: not much more than is there, and no more than a window
  // has room for.
  std::uint64_t NextStep(std::uint64_t taken) const;
  // Copies bytes [from, to), which are there, to their place in `into`.
  Result<void> Copy(std::span<std::byte> into, std::uint64_t from, std::uint64_t to) const;

 private:
  bool windowed() const { return bytes_.size() < size_; }

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
