#include <bit>
#include <utility>

#include <fmt/format.h>

#include <hoplite/draft.h>

#include "base/object_names.h"
#include "base/try.h"
#include "client/convert.h"
#include "client/copy_forward.h"
#include "client/draft_impl.h"
#include "client/empty.h"
#include "client/futures.h"
#include "client/interruption.h"

namespace hoplite {

void DraftFailure::OnNews(const client::local::Answer& news) {
  const auto& error = news.draft_failed();
  OnEnd(Error(static_cast<ErrorCode>(error.code()), error.message()));
}

void DraftFailure::OnEnd(const Error& why) {
  const MutexLock lock(mutex_);
  if (!error_) error_ = why;
}

std::optional<Error> DraftFailure::error() const {
  const MutexLock lock(mutex_);
  return error_;
}

client::local::Request Draft::Impl::Request(const client::Connection& connection,
                                            std::uint64_t made_by, const ObjectId& id,
                                            std::uint64_t size_bytes,
                                            const CreateOptions& options) {
  client::local::Request request;
  request.set_id(made_by);
  request.mutable_create()->set_object(std::string(id.view()));
  request.mutable_create()->set_size(size_bytes);
  request.mutable_create()->set_metadata(options.metadata);
  if (options.dtype) {
    request.mutable_create()->set_dtype(static_cast<std::uint32_t>(*options.dtype));
  }
  request.mutable_create()->set_name(RememberedName(id));
  request.mutable_create()->set_owned(options.owned);
  client::SetGrace(options.grace, request);
  request.mutable_create()->set_only_if_owned(options.only_if_owned);
  request.mutable_create()->set_maps_writable(connection.lacks_writable());
  return request;
}

Result<std::unique_ptr<Draft::Impl>> Draft::Impl::Of(
    const std::shared_ptr<client::Connection>& connection, std::uint64_t made_by,
    const ObjectId& id, std::uint64_t size_bytes, const client::local::Answer& answer) {
  const std::uint32_t block_bytes = answer.draft_ready().block_bytes();
  auto range = connection->writable().Range(answer.draft_ready().offset(), size_bytes);
  if (range && !std::has_single_bit(block_bytes)) {
    range = std::unexpected(Error(ErrorCode::kProtocol,
                                  fmt::format("the node offers blocks of {} bytes", block_bytes)));
  }
  if (!range) {
    connection->Release(made_by);
    return std::unexpected(range.error());
  }
  return std::make_unique<Impl>(connection, made_by, id, *range, block_bytes);
}

Draft::Impl::Impl(std::shared_ptr<client::Connection> connection, std::uint64_t made_by,
                  const ObjectId& id, std::span<std::byte> bytes, std::uint32_t block_bytes)
    : connection_(std::move(connection)),
      made_by_(made_by),
      id_(id),
      bytes_(bytes),
      block_bytes_(block_bytes),
      failure_(std::make_shared<DraftFailure>()) {
  connection_->AddSink(made_by_, failure_);
}

Draft::Impl::~Impl() {
  Abort();
  connection_->RemoveSink(made_by_);
}

Result<void> Draft::Impl::CheckOpen() const {
  if (connection_->inherited()) return std::unexpected(client::Connection::Inherited());
  if (open_) return {};
  return std::unexpected(Error(ErrorCode::kInvalidArgument, "the draft of object " + id_.ToHex() +
                                                                " was sealed or aborted before"));
}

Result<void> Draft::Impl::Advance(std::uint64_t prefix, std::span<const std::uint64_t> checksums) {
  TRY(CheckOpen());
  if (prefix < prefix_ || prefix > bytes_.size()) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                 fmt::format("object {}: advance to {}, but {} of {} are written",
                                             id_.ToHex(), prefix, prefix_, bytes_.size())));
  }
  if (const auto error = failure_->error()) return std::unexpected(*error);
  if (prefix == prefix_) return {};
  prefix_ = prefix;
  client::local::Request request;
  request.mutable_advance()->set_draft(made_by_);
  request.mutable_advance()->set_prefix(prefix);
  request.mutable_advance()->mutable_checksums()->Assign(checksums.begin(), checksums.end());
  connection_->Tell(request);
  return {};
}

Result<void> Draft::Impl::Write(const client::Pieces& contents, const std::atomic<bool>* stop) {
  Result<void> advanced;
  client::CopyForward(
      bytes_, contents, block_bytes_,
      [&](std::uint64_t prefix, std::span<const std::uint64_t> checksums) {
        advanced = Advance(prefix, checksums);
        if (client::Interruption::Wanted()) {
          advanced = std::unexpected(client::Interruption::Reason());
        }
        return advanced.has_value();
      },
      stop);
  return advanced;
}

Result<void> Draft::Impl::Seal(Time deadline) {
  TRY(CheckOpen());
  const Result<client::PendingPtr> asked = BeginSeal(deadline);
  Result<void> sealed;
  if (!asked) {
    sealed = std::unexpected(asked.error());
  } else if (const auto& answer = connection_->Finish(*asked, deadline); !answer) {
    sealed = std::unexpected(answer.error());
  }
  if (!sealed) Abort();
  Sealed();
  return sealed;
}

Result<client::PendingPtr> Draft::Impl::BeginSeal(Time deadline) {
  TRY(Advance(bytes_.size(), {}));
  client::local::Request request;
  request.mutable_seal()->set_draft(made_by_);
  return connection_->Begin(std::move(request), deadline);
}

// Its Seal was asked for; aborts it unless that was done.
struct Draft::Impl::Sealing {
  std::unique_ptr<Impl> draft;
  client::PendingPtr asked;
  ~Sealing() {
    if (draft->connection_->inherited()) return;
    if (asked->settled() && asked->outcome()) draft->Sealed();
  }
};

Future<ObjectId> Draft::Impl::SealLater(std::unique_ptr<Impl> draft, Time deadline) {
  if (const Result<void> open = draft->CheckOpen(); !open) {
    return Future<ObjectId>::Failed(open.error());
  }
  const Result<client::PendingPtr> asked = draft->BeginSeal(deadline);
  if (!asked) return Future<ObjectId>::Failed(asked.error());
  const ObjectId id = draft->id();
  auto question = std::make_unique<client::Question>(draft->connection_, *asked, deadline);
  const std::shared_ptr<Sealing> sealing(new Sealing{std::move(draft), *asked});
  return client::FutureOf<ObjectId>(
      std::move(question), client::Naming(id),
      [sealing, id](const client::local::Answer&) -> Result<ObjectId> { return id; });
}

void Draft::Impl::Abort() {
  if (std::exchange(open_, false)) connection_->Release(made_by_);
}

namespace {

Error NoDraft() { return client::Empty("draft", "Client::Create makes one, SealAsync takes it"); }

}  // namespace

Draft::Draft() = default;
Draft::Draft(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Draft::Draft(Draft&&) noexcept = default;
Draft& Draft::operator=(Draft&&) noexcept = default;
Draft::~Draft() = default;

const ObjectId& Draft::id() const& { return impl_ ? impl_->id() : client::kNoObject; }
std::span<std::byte> Draft::data() const& {
  return impl_ ? impl_->bytes() : std::span<std::byte>();
}
Result<void> Draft::Advance(std::uint64_t prefix_bytes) {
  if (!impl_) return std::unexpected(NoDraft());
  return impl_->Advance(prefix_bytes, {});
}
Result<void> Draft::Seal(std::chrono::milliseconds timeout) {
  if (!impl_) return std::unexpected(NoDraft());
  return impl_->Seal(client::DeadlineAfter(timeout));
}

Future<ObjectId> Draft::SealAsync(std::chrono::milliseconds timeout) {
  if (!impl_) return Future<ObjectId>::Failed(NoDraft());
  return Impl::SealLater(std::move(impl_), client::DeadlineAfter(timeout));
}

void Draft::Abort() {
  if (impl_) impl_->Abort();
}

}  // namespace hoplite
