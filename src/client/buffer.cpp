#include <utility>

#include <hoplite/buffer.h>

#include "base/try.h"
#include "client/client_access.h"

namespace hoplite {

struct Buffer::Pin {
  std::shared_ptr<client::Connection> connection;
  std::uint64_t made_by;
  ObjectId object;
  std::string metadata;
  std::span<const std::byte> bytes;

  ~Pin() {
    if (connection) connection->Release(made_by);
  }
};

namespace {

const ObjectId kNoObject;
const std::string kNoMetadata;

}  // namespace

Buffer::Buffer() = default;
Buffer::~Buffer() = default;
Buffer::Buffer(const Buffer&) = default;
Buffer& Buffer::operator=(const Buffer&) = default;
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
Buffer::Buffer(std::shared_ptr<const Pin> pin) : pin_(std::move(pin)) {}

const ObjectId& Buffer::id() const& { return pin_ ? pin_->object : kNoObject; }

std::span<const std::byte> Buffer::bytes() const& {
  return pin_ ? pin_->bytes : std::span<const std::byte>();
}

std::string_view Buffer::view() const& {
  return {reinterpret_cast<const char*>(bytes().data()), bytes().size()};
}

const std::string& Buffer::metadata() const& { return pin_ ? pin_->metadata : kNoMetadata; }

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
