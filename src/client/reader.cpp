#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <hoplite/reader.h>

#include "base/try.h"
#include "base/units.h"
#include "client/client_access.h"
#include "client/empty.h"
#include "client/interruption.h"
#include "client/reader_impl.h"

namespace hoplite {
namespace {

// Whoever copies all asks for at least so much at a time: few messages, and still close behind the arrival.
constexpr std::uint64_t kStep = 512_KiB;
// A window has room for so many of these: some under way, some arrived, one being copied.
constexpr std::uint64_t kSteps = 4;
// Takes some milliseconds; between two of these it is asked whether anybody still wants them.
constexpr std::uint64_t kMostAtOnce = 16_MiB;

}  // namespace

Reader::Impl::Impl(std::shared_ptr<client::Connection> connection, std::uint64_t made_by,
                   const ObjectId& id, std::span<const std::byte> bytes,
                   const client::local::View& view)
    : connection_(std::move(connection)),
      made_by_(made_by),
      id_(id),
      size_(view.size()),
      bytes_(bytes),
      metadata_(view.metadata()),
      prefix_(std::min(view.prefix(), size_)),
      final_(view.final()) {}

Reader::Impl::~Impl() { connection_->Release(made_by_); }

bool Reader::Impl::Has(std::uint64_t bytes) const {
  return final_ || (bytes < size_ && bytes <= prefix_);
}

client::PendingPtr Reader::Impl::Ask(std::uint64_t bytes, std::uint64_t taken, Time deadline) {
  client::local::Request request;
  request.mutable_await()->set_reader(made_by_);
  request.mutable_await()->set_prefix(bytes);
  request.mutable_await()->set_taken(taken);
  return connection_->Begin(std::move(request), deadline);
}

void Reader::Impl::Grew(const client::local::Answer& answer, std::uint64_t bytes) {
  prefix_ = std::min(answer.growth().prefix(), size_);
  final_ = bytes == size_;
}

Result<std::span<const std::byte>> Reader::Impl::WaitFor(std::uint64_t bytes, Time deadline) {
  if (bytes > size_) {
    return std::unexpected(Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{} bytes are asked of object {}, which has {}", bytes, id_.ToHex(), size_)));
  }
  if (!Has(bytes)) {
    TRY_ASSIGN(const client::local::Answer answer,
               connection_->Finish(Ask(bytes, 0, deadline), deadline));
    Grew(answer, bytes);
  }
  return bytes_.first(prefix_);
}

std::uint64_t Reader::Impl::NextStep(std::uint64_t taken) const {
  // A short rest is worth no message of its own.
  if (!windowed()) return size_ - prefix_ < 3 * kStep ? size_ : prefix_ + kStep;
  const std::uint64_t step = std::min(kStep, bytes_.size() / kSteps);
  return std::min({prefix_ + step, taken + bytes_.size(), size_});
}

// From memory that may be a window: byte b of the object lies at b modulo its size.
Result<void> Reader::Impl::Copy(std::span<std::byte> into, std::uint64_t from,
                                std::uint64_t to) const {
  while (from < to) {
    if (client::Interruption::Wanted()) return std::unexpected(client::Interruption::Reason());
    const std::span<const std::byte> here = bytes_.subspan(from % bytes_.size());
    const std::uint64_t count = std::min<std::uint64_t>({to - from, here.size(), kMostAtOnce});
    std::memcpy(&into[from], here.data(), count);
    from += count;
  }
  return {};
}

Result<std::unique_ptr<ClientAccess::ReaderImpl>> ClientAccess::MakeReader(
    std::shared_ptr<client::Connection> connection, const ObjectId& object, std::uint64_t id,
    const client::local::View& view) {
  const std::uint64_t bytes = view.window() != 0 ? view.window() : view.size();
  const auto range = connection->readable().Range(view.offset(), bytes);
  if (!range) {
    connection->Release(id);
    return std::unexpected(range.error());
  }
  return std::make_unique<ReaderImpl>(std::move(connection), id, object, *range, view);
}

Reader::Reader() = default;
Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

const ObjectId& Reader::id() const& { return impl_ ? impl_->id() : client::kNoObject; }
std::uint64_t Reader::size() const { return impl_ ? impl_->size() : 0; }
const std::string& Reader::metadata() const& { return impl_ ? impl_->metadata() : client::kNoText; }
Result<std::span<const std::byte>> Reader::WaitFor(std::uint64_t bytes,
                                                   std::chrono::milliseconds timeout,
                                                   const std::stop_token& stop) & {
  if (!impl_) return std::unexpected(client::Empty("reader", "Client::Open makes one"));
  const client::Interruption by_caller(stop);
  return impl_->WaitFor(bytes, client::DeadlineAfter(timeout));
}

}  // namespace hoplite
