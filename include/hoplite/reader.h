// Reader: an object that can be read while it arrives.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include <hoplite/export.h>
#include <hoplite/object_id.h>
#include <hoplite/options.h>
#include <hoplite/result.h>

namespace hoplite {

// Pins the object like a Buffer. Bytes may be used before the object is complete, but only a
// WaitFor of the whole size says that they are final. One thread at a time.
//
//   hoplite::Reader reader = client.Open(id).value();
//   for (std::uint64_t done = 0; done < reader.size();) {
//     const std::span<const std::byte> there = reader.WaitFor(done + 1).value();
//     Use(there.subspan(done));
//     done = there.size();
//   }
//   auto final = reader.WaitFor(reader.size());  // an error: what was used is worthless
class HOPLITE_EXPORT Reader {
 public:
  using EndsItsViews = void;  // Result: no -> of a temporary
  Reader();                   // empty: size 0, and WaitFor answers invalid_argument
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  const ObjectId& id() const&;  // of the object
  ObjectId id() const&& { return id(); }
  std::uint64_t size() const;            // of the whole object, in bytes
  const std::string& metadata() const&;  // what its creator gave with it, at most 4 KiB
  std::string metadata() const&& { return metadata(); }

  // Waits until at least `bytes` (at most size()) are there, gives all that are, from the first
  // byte on. WaitFor(size()) also waits until the object is final.
  //   timeout   so many are not there yet; wait again
  //   recalled  the version was replaced: its bytes are worthless, open the object again
  //   deleted   the object was deleted meanwhile
  //   cancelled  `stop` was asked to stop
  Result<std::span<const std::byte>> WaitFor(std::uint64_t bytes,
                                             std::chrono::milliseconds timeout = kForever,
                                             const std::stop_token& stop = {}) &;
  Result<std::span<const std::byte>> WaitFor(std::uint64_t bytes,
                                             std::chrono::milliseconds timeout = kForever,
                                             const std::stop_token& stop = {}) && = delete;

 private:
  friend class Client;
  friend class ClientAccess;
  class Impl;
  explicit Reader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoplite
