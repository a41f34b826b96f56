#include <bit>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <hoplite/client.h>

#include "base/try.h"
#include "client/client_access.h"
#include "client/convert.h"
#include "client/draft_impl.h"
#include "client/future_state.h"
#include "client/get_many.h"
#include "client/reader_impl.h"
#include "client/status.h"
#include "client/subscription_impl.h"

namespace hoplite {
namespace {

using client::DeadlineAfter;
using client::local::Answer;
using client::local::Request;

std::string Bytes(const ObjectId& id) { return std::string(id.view()); }

}  // namespace

Result<ObjectId> Client::Put(std::string_view bytes, const PutOptions& options) {
  return Put(std::as_bytes(std::span(bytes)), options);
}

Result<ObjectId> Client::Put(std::span<const std::byte> bytes, const PutOptions& options) {
  const ObjectId id = options.id == ObjectId() ? ObjectId::Random() : options.id;
  if (bytes.size() > wire::kMaxMessagePut) {
    const Time deadline = DeadlineAfter(options.timeout);
    TRY_ASSIGN(
        const Draft draft,
        Create(id, bytes.size(), {.metadata = options.metadata, .timeout = options.timeout}));
    TRY(draft.impl_->Fill(bytes, deadline));
    return id;
  }
  Request request;
  request.mutable_put()->set_object(Bytes(id));
  request.mutable_put()->set_metadata(options.metadata);
  request.mutable_put()->set_contents(bytes.data(), bytes.size());
  const Time deadline = DeadlineAfter(options.timeout);
  TRY(state_->Now(deadline)->Call(std::move(request), deadline));
  return id;
}

Result<Draft> Client::Create(const ObjectId& id, std::uint64_t size_bytes,
                             const CreateOptions& options) {
  const Time deadline = DeadlineAfter(options.timeout);
  const auto connection = state_->Now(deadline);
  const std::uint64_t made_by = connection->NextId();
  Request request;
  request.set_id(made_by);
  request.mutable_create()->set_object(Bytes(id));
  request.mutable_create()->set_size(size_bytes);
  request.mutable_create()->set_metadata(options.metadata);
  request.mutable_create()->set_maps_writable(connection->lacks_writable());
  TRY_ASSIGN(const Answer answer, connection->Call(std::move(request), deadline));
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
  return Draft(std::make_unique<Draft::Impl>(connection, made_by, id, *range, block_bytes));
}

Result<Buffer> Client::Get(const ObjectId& id, const GetOptions& options) {
  return GetAsync(id, options).Wait();
}

Future<Buffer> Client::GetAsync(const ObjectId& id, const GetOptions& options) {
  return GetTogether(id, options, 0);
}

// `together` is the same number in all Gets whose answers are held at once; 0: this one is alone.
Future<Buffer> Client::GetTogether(const ObjectId& id, const GetOptions& options,
                                   std::uint64_t together) {
  const Time deadline = DeadlineAfter(options.timeout);
  Request request;
  request.mutable_get()->set_object(Bytes(id));
  request.mutable_get()->set_together(together);
  auto connection = state_->Now(deadline);
  auto pending = connection->Begin(std::move(request), deadline);
  return Future<Buffer>(std::make_shared<FutureState<Buffer>>(std::move(connection),
                                                              std::move(pending), id, deadline));
}

std::vector<Result<Buffer>> Client::GetMany(std::span<const ObjectId> ids,
                                            const GetOptions& options) {
  std::vector<std::optional<Future<Buffer>>> asked(ids.size());
  const auto connection = state_->Now(DeadlineAfter(options.timeout));
  const std::uint64_t together = connection->NextId();
  for (const std::size_t place : client::OrderOfAsking(ids, connection->node())) {
    asked[place] = GetTogether(ids[place], options, together);
  }
  std::vector<Result<Buffer>> answers;
  answers.reserve(ids.size());
  for (const auto& future : asked) answers.push_back(future->Wait());
  return answers;
}

Result<std::uint64_t> Client::GetInto(const ObjectId& id, std::span<std::byte> into,
                                      const GetOptions& options) {
  const Time deadline = DeadlineAfter(options.timeout);
  for (;;) {
    TRY_ASSIGN(const Reader reader, OpenUntil(id, deadline, true));
    if (into.size() < reader.size()) {
      return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                   fmt::format("object {} has {} bytes, the memory for it {}",
                                               id.ToHex(), reader.size(), into.size())));
    }
    const Result<void> copied = reader.impl_->CopyInto(into, deadline);
    if (copied) return reader.size();
    // A newer version: what was copied is worthless.
    if (copied.error().code != ErrorCode::kRecalled) return std::unexpected(copied.error());
  }
}

Result<Reader> Client::Open(const ObjectId& id, const GetOptions& options) {
  return OpenUntil(id, DeadlineAfter(options.timeout), false);
}

Result<Reader> Client::OpenUntil(const ObjectId& id, std::chrono::steady_clock::time_point deadline,
                                 bool through_window) {
  const auto connection = state_->Now(deadline);
  const std::uint64_t made_by = connection->NextId();
  Request request;
  request.set_id(made_by);
  request.mutable_open()->set_object(Bytes(id));
  request.mutable_open()->set_window(through_window);
  TRY_ASSIGN(const Answer answer, connection->Call(std::move(request), deadline));
  const auto& view = answer.view();
  const std::uint64_t bytes = view.window() != 0 ? view.window() : view.size();
  const auto range = connection->readable().Range(view.offset(), bytes);
  if (!range) {
    connection->Release(made_by);
    return std::unexpected(range.error());
  }
  return Reader(std::make_unique<Reader::Impl>(connection, made_by, id, *range, view));
}

Result<void> Client::Delete(const ObjectId& id, const GetOptions& options) {
  Request request;
  request.mutable_delete_object()->set_object(Bytes(id));
  const Time deadline = DeadlineAfter(options.timeout);
  TRY(state_->Now(deadline)->Call(std::move(request), deadline));
  return {};
}

Result<ObjectInfo> Client::Info(const ObjectId& id, const GetOptions& options) {
  Request request;
  request.mutable_info()->set_object(Bytes(id));
  const Time deadline = DeadlineAfter(options.timeout);
  TRY_ASSIGN(const Answer answer, state_->Now(deadline)->Call(std::move(request), deadline));
  return client::ToObjectInfo(answer.info());
}

Result<Subscription> Client::Subscribe(const ObjectId& id, const GetOptions& options) {
  const Time deadline = DeadlineAfter(options.timeout);
  const auto connection = state_->Now(deadline);
  const std::uint64_t made_by = connection->NextId();
  auto queue = std::make_shared<LocationQueue>();
  connection->AddSink(made_by, queue);  // before the first change can come
  auto impl = std::make_unique<Subscription::Impl>(connection, made_by, std::move(queue));
  Request request;
  request.set_id(made_by);
  request.mutable_subscribe()->set_object(Bytes(id));
  TRY(connection->Call(std::move(request), deadline));
  return Subscription(std::move(impl));
}

Result<ClusterStatus> Client::Status(const GetOptions& options, std::uint64_t max_objects) {
  const Time deadline = DeadlineAfter(options.timeout);
  return client::AskForStatus(*state_->Now(deadline), deadline, max_objects);
}

}  // namespace hoplite
