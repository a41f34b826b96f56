#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <hoplite/buffer.h>

#include "base/try.h"
#include "client/client_access.h"
#include "client/empty.h"

namespace hoplite {

struct Buffer::Pin {
  std::shared_ptr<client::Connection> connection;
  std::uint64_t made_by;
  ObjectId object;
  std::string metadata;
  std::span<const std::byte> bytes;
  std::shared_ptr<const Pin> whole = {};  // what it is a part of, which has the pin

  ~Pin() {
    if (connection && !whole) connection->Release(made_by);
  }
};

Buffer::Buffer() = default;
Buffer::~Buffer() = default;
Buffer::Buffer(const Buffer&) = default;
Buffer& Buffer::operator=(const Buffer&) = default;
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
Buffer::Buffer(std::shared_ptr<const Pin> pin) : pin_(std::move(pin)) {}

const ObjectId& Buffer::id() const& { return pin_ ? pin_->object : client::kNoObject; }

std::span<const std::byte> Buffer::bytes() const& {
  return pin_ ? pin_->bytes : std::span<const std::byte>();
}

std::string_view Buffer::view() const& {
  return {reinterpret_cast<const char*>(bytes().data()), bytes().size()};
}

const std::string& Buffer::metadata() const& { return pin_ ? pin_->metadata : client::kNoText; }

Result<Buffer> Buffer::Part(const ObjectRange& range) const {
  const bool to_the_end = range.size == ObjectRange().size;
  if (range.offset > size() || (!to_the_end && range.size > size() - range.offset)) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("{} bytes from {} on are asked of object {}, of which {} are here",
                          range.size, range.offset, id().ToHex(), size())));
  }
  if (!pin_) return *this;
  const std::uint64_t count = std::min(range.size, size() - range.offset);
  return Buffer(std::make_shared<const Pin>(pin_->connection, pin_->made_by, pin_->object,
                                            pin_->metadata, bytes().subspan(range.offset, count),
                                            pin_->whole ? pin_->whole : pin_));
}

Result<PrivateBuffer> Buffer::MapPrivate() const {
  PrivateBuffer made;
  if (!pin_) return made;
  TRY_ASSIGN(auto mapped, pin_->connection->readable().MapPrivate(pin_->bytes));
  made.object_ = *this;
  made.bytes_ = mapped.bytes;
  made.pages_ = std::move(mapped.pages);
  return made;
}

Result<Buffer> ClientAccess::MakeBuffer(std::shared_ptr<client::Connection> connection,
                                        const ObjectId& object, std::uint64_t id,
                                        const client::local::View& view) {
  auto range = connection->readable().Range(view.offset(), view.size());
  if (!range) {
    connection->Release(id);
    return std::unexpected(
        Error(ErrorCode::kProtocol, "the node answered Get with bytes that are not there"));
  }
  return Buffer(std::make_shared<const Buffer::Pin>(std::move(connection), id, object,
                                                    view.metadata(), *range));
}

}  // namespace hoplite
