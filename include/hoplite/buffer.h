// Buffer: an object's bytes, read-only, in the node's shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <hoplite/export.h>
#include <hoplite/object_id.h>

namespace hoplite {

// A view that pins the object: while a Buffer or a copy of it lives, its node keeps these bytes,
// also after a Delete. It stays readable when its Client was closed and when its node is gone. A
// pin takes room in the node's store, so don't keep more of them than needed.
//
// Cheap to copy: copies share one pin. Different threads may use copies of one Buffer at once.
class HOPLITE_EXPORT Buffer {
 public:
  Buffer();  // empty: no object, no bytes
  ~Buffer();
  Buffer(const Buffer&);
  Buffer& operator=(const Buffer&);
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  const ObjectId& id() const;
  std::span<const std::byte> bytes() const;
  // The same bytes as text.
  std::string_view view() const;
  std::uint64_t size() const { return bytes().size(); }  // in bytes
  // What the object's creator gave with it, at most 4 KiB.
  const std::string& metadata() const;

 private:
  friend class ClientAccess;
  struct Pin;
  explicit Buffer(std::shared_ptr<const Pin> pin);
  std::shared_ptr<const Pin> pin_;
};

}  // namespace hoplite
