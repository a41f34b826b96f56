// Buffer: an object's bytes, read-only, in the node's shared memory. PrivateBuffer: the same to
// write to, for this process alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <hoplite/elements.h>
#include <hoplite/export.h>
#include <hoplite/object_id.h>
#include <hoplite/result.h>

namespace hoplite {

class PrivateBuffer;

// Bytes [offset, offset + size) of an object.
struct ObjectRange {
  std::uint64_t offset = 0;  // in bytes, from the object's begin
  std::uint64_t size = std::numeric_limits<std::uint64_t>::max();  // this: all that follow
};

// A view that pins the object: while a Buffer or a copy of it lives, its node keeps these bytes,
// also after a Delete. It stays readable when its Client was closed and when its node is gone. A
// pin takes room in the node's store, so don't keep more of them than needed.
//
// A forked child may read the Buffers of its parent, also when the parent has dropped them or is
// gone: all that the parent had at the fork is kept for it, until it has dropped everything of their
// Client, has called exec or ended. (By fork(), that is: clone() and _Fork() tell nobody.)
//
// Cheap to copy: copies share one pin. Different threads may use copies of one Buffer at once. Of a
// temporary there are no views, as of all that pins: `client.Get(id)->view()` does not compile.
class HOPLITE_EXPORT Buffer {
 public:
  using EndsItsViews = void;  // Result: no -> of a temporary
  Buffer();                   // empty: no object, no bytes
  ~Buffer();
  Buffer(const Buffer&);
  Buffer& operator=(const Buffer&);
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  const ObjectId& id() const&;  // of the object; all zero if this is empty
  ObjectId id() const&& { return id(); }
  // All of the object, from a multiple of 64 bytes on; or the part of it that this is.
  std::span<const std::byte> bytes() const&;
  std::span<const std::byte> bytes() const&& = delete;
  // The same bytes as text.
  std::string_view view() const&;
  std::string_view view() const&& = delete;
  // The same bytes as numbers: `for (float x : *buffer.as<float>())`.
  //   invalid_argument  they are no whole numbers of that type
  template <Storable T>
  Result<std::span<const T>> as() const& {
    return ElementsOf<T>(bytes());
  }
  template <Storable T>
  Result<std::span<const T>> as() const&& = delete;
  std::uint64_t size() const { return bytes().size(); }  // in bytes
  // What the object's creator gave with it, at most 4 KiB.
  const std::string& metadata() const&;
  std::string metadata() const&& { return metadata(); }

  // A view of some of the bytes, which pins the whole object.
  //   invalid_argument  the range is beyond the end
  Result<Buffer> Part(const ObjectRange& range) const;

  // The bytes once more, in memory that may be written to: nobody else sees what is written, no
  // other holder of the object and no other mapping of it. Nothing is copied now. The first write
  // to a page (4 KiB, most often) copies that page, which takes about a microsecond, and the
  // memory of it from then on, which is this process's and not the store's. Pages that were not
  // written to show the object: that is why the mapping pins it, too. It takes one system call, a
  // fault for each page that is touched first, and one of the process's mappings (Linux allows
  // 65530): for less than some pages, a copy costs less.
  //   resource_exhausted  no more mappings, or no memory
  Result<PrivateBuffer> MapPrivate() const;

 private:
  friend class ClientAccess;
  struct Pin;
  explicit Buffer(std::shared_ptr<const Pin> pin);
  std::shared_ptr<const Pin> pin_;
};

// Owns its mapping, and a pin of the object. One thread at a time may write, as to any memory. A
// forked child has it as it was at the fork, for itself from then on.
class HOPLITE_EXPORT PrivateBuffer {
 public:
  using EndsItsViews = void;  // Result: no -> of a temporary
  PrivateBuffer() = default;  // no bytes
  ~PrivateBuffer() = default;
  PrivateBuffer(PrivateBuffer&&) noexcept = default;
  PrivateBuffer& operator=(PrivateBuffer&&) noexcept = default;
  PrivateBuffer(const PrivateBuffer&) = delete;
  PrivateBuffer& operator=(const PrivateBuffer&) = delete;

  std::span<std::byte> bytes() const& { return bytes_; }  // all of the object, to write to
  std::span<std::byte> bytes() const&& = delete;
  // As Buffer::as, to write to.
  //   invalid_argument  they are no whole numbers of that type
  template <Storable T>
  Result<std::span<T>> as() const& {
    return ElementsOf<T>(bytes_);
  }
  template <Storable T>
  Result<std::span<T>> as() const&& = delete;
  std::uint64_t size() const { return bytes_.size(); }  // in bytes
  // What it was mapped of; unchanged.
  const Buffer& object() const& { return object_; }
  Buffer object() const&& { return object_; }

 private:
  friend class Buffer;
  Buffer object_;  // its pin ends after the mapping
  std::span<std::byte> bytes_;
  std::shared_ptr<void> pages_;
};

}  // namespace hoplite
