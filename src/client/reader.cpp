#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <hoplite/reader.h>

#include "base/try.h"
#include "base/units.h"
#include "client/reader_impl.h"

namespace hoplite {
namespace {

// CopyInto asks for at least so much at a time: few messages, and still close behind the arrival.
constexpr std::uint64_t kStep = 512_KiB;

}  // namespace

Reader::Impl::Impl(std::shared_ptr<client::Connection> connection, std::uint64_t made_by,
                   const ObjectId& id, std::span<const std::byte> bytes,
                   const client::local::View& view)
    : connection_(std::move(connection)),
      made_by_(made_by),
      id_(id),
      bytes_(bytes),
      metadata_(view.metadata()),
      prefix_(std::min<std::uint64_t>(view.prefix(), bytes.size())),
      final_(view.final()) {}

Reader::Impl::~Impl() { connection_->Release(made_by_); }

bool Reader::Impl::Has(std::uint64_t bytes) const {
  return final_ || (bytes < bytes_.size() && bytes <= prefix_);
}

client::PendingPtr Reader::Impl::Ask(std::uint64_t bytes, Time deadline) {
  client::local::Request request;
  request.mutable_await()->set_reader(made_by_);
  request.mutable_await()->set_prefix(bytes);
  return connection_->Begin(std::move(request), deadline);
}

Result<void> Reader::Impl::Finish(const client::PendingPtr& asked, std::uint64_t bytes,
                                  Time deadline) {
  TRY_ASSIGN(const client::local::Answer answer, connection_->Finish(asked, deadline));
  prefix_ = std::min<std::uint64_t>(answer.growth().prefix(), bytes_.size());
  final_ = bytes == bytes_.size();
  return {};
}

Result<std::span<const std::byte>> Reader::Impl::WaitFor(std::uint64_t bytes, Time deadline) {
  if (bytes > bytes_.size()) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                 fmt::format("{} bytes are asked of object {}, which has {}", bytes,
                                             id_.ToShortString(), bytes_.size())));
  }
  if (!Has(bytes)) TRY(Finish(Ask(bytes, deadline), bytes, deadline));
  return bytes_.first(prefix_);
}

Result<void> Reader::Impl::CopyInto(std::span<std::byte> into, Time deadline) {
  std::uint64_t copied = 0;
  const auto copy = [&] {
    if (prefix_ > copied) std::memcpy(&into[copied], &bytes_[copied], prefix_ - copied);
    copied = prefix_;
  };
  while (!final_) {
    // Ask first: bytes arrive while these are copied.
    const std::uint64_t wanted = std::min<std::uint64_t>(prefix_ + kStep, bytes_.size());
    const client::PendingPtr asked = Ask(wanted, deadline);
    copy();
    TRY(Finish(asked, wanted, deadline));
  }
  copy();
  return {};
}

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

const ObjectId& Reader::id() const { return impl_->id(); }
std::uint64_t Reader::size() const { return impl_->bytes().size(); }
const std::string& Reader::metadata() const { return impl_->metadata(); }
Result<std::span<const std::byte>> Reader::WaitFor(std::uint64_t bytes,
                                                   std::chrono::milliseconds timeout) {
  return impl_->WaitFor(bytes, client::DeadlineAfter(timeout));
}

}  // namespace hoplite
