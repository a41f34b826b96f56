#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <hoplite/client.h>

#include "base/limits.h"
#include "base/object_names.h"
#include "base/text.h"
#include "base/try.h"
#include "client/async_put.h"
#include "client/client_access.h"
#include "client/convert.h"
#include "client/draft_impl.h"
#include "client/futures.h"
#include "client/get_many.h"
#include "client/incoming.h"
#include "client/infos.h"
#include "client/interruption.h"
#include "client/status.h"
#include "client/subscription_impl.h"

namespace hoplite {
namespace {

using client::DeadlineAfter;
using client::IdBytes;
using client::local::Answer;
using client::local::Request;

static_assert(kMaxIdsAtOnce == wire::kMaxObjects);

ObjectId IdOf(const PutOptions& options) {
  return options.id == ObjectId() ? ObjectId::Random() : options.id;
}

Request SmallPut(const ObjectId& id, const client::Pieces& contents, const PutOptions& options) {
  Request request;
  client::local::Put& put = *request.mutable_put();
  put.set_object(IdBytes(id));
  put.set_metadata(options.metadata);
  if (options.dtype) put.set_dtype(static_cast<std::uint32_t>(*options.dtype));
  put.set_name(RememberedName(id));
  put.set_owned(options.owned);
  client::SetGrace(options.grace, request);
  put.set_only_if_owned(options.only_if_owned);
  put.mutable_contents()->resize(contents.size());
  contents.CopyTo(std::as_writable_bytes(std::span(*put.mutable_contents())), 0);
  return request;
}

Request Failure(const ObjectId& id, const Error& error, const FailOptions& options) {
  Request request;
  client::local::Put& put = *request.mutable_put();
  put.set_object(IdBytes(id));
  put.set_owned(options.owned);
  client::SetGrace(options.grace, request);
  put.set_only_if_owned(options.only_if_owned);
  put.set_name(RememberedName(id));
  put.mutable_failure()->set_code(static_cast<std::uint32_t>(error.code));
  put.mutable_failure()->set_message(error.message);
  return request;
}

Request DeletionOf(std::span<const ObjectId> ids, const CallOptions& /*options*/) {
  Request request;
  request.mutable_delete_object()->set_objects(client::Concatenated(ids));
  return request;
}

Request OwningOf(std::span<const ObjectId> ids, const CallOptions& options) {
  Request request;
  client::SetGrace(options.grace, request);
  request.mutable_own()->set_objects(client::Concatenated(ids));
  return request;
}

Request DisowningOf(std::span<const ObjectId> ids, const CallOptions& /*options*/ = {}) {
  Request request;
  request.mutable_disown()->set_objects(client::Concatenated(ids));
  return request;
}

// Whatever is asked next under the same deadline is answered so, too.
bool IsLasting(ErrorCode code) {
  return code == ErrorCode::kTimeout || code == ErrorCode::kCancelled ||
         code == ErrorCode::kUnavailable;
}

CreateOptions ForDraft(const PutOptions& options) {
  return {.metadata = options.metadata,
          .dtype = options.dtype,
          .owned = options.owned,
          .grace = options.grace,
          .only_if_owned = options.only_if_owned,
          .timeout = options.timeout};
}

}  // namespace

Result<ObjectId> Client::Put(std::string_view bytes, const PutOptions& options) {
  return Put(std::as_bytes(std::span(bytes)), options);
}

Result<ObjectId> Client::Put(std::span<const std::byte> bytes, const PutOptions& options) {
  return Put(std::span(&bytes, 1), options);
}

Result<ObjectId> Client::Put(std::span<const std::span<const std::byte>> pieces,
                             const PutOptions& options) {
  const ObjectId id = IdOf(options);
  const client::Pieces contents(pieces);
  const client::Interruption by_caller(options.stop);
  const Time deadline = DeadlineAfter(options.timeout);
  if (contents.size() <= wire::kMaxMessagePut) {
    TRY(state_->Now(deadline)->Call(SmallPut(id, contents, options), deadline));
    return id;
  }
  TRY_ASSIGN(const Draft draft, Create(id, contents.size(), ForDraft(options)));
  TRY(draft.impl_->Write(contents));
  TRY(draft.impl_->Seal(deadline));
  return id;
}

Future<ObjectId> Client::PutAsync(std::span<const std::byte> bytes, const PutOptions& options) {
  return PutAsync(nullptr, bytes, options);
}

Future<ObjectId> Client::PutAsync(std::shared_ptr<const void> owner,
                                  std::span<const std::byte> bytes, const PutOptions& options) {
  return state_->Putting(std::move(owner), std::span(&bytes, 1), options);
}

Future<ObjectId> Client::PutAsync(std::span<const std::span<const std::byte>> pieces,
                                  const PutOptions& options) {
  return state_->Putting(nullptr, pieces, options);
}

Future<ObjectId> Client::State::Putting(std::shared_ptr<const void> owner,
                                        std::span<const std::span<const std::byte>> pieces,
                                        const PutOptions& options) {
  const ObjectId id = IdOf(options);
  client::Pieces contents(pieces);
  const Time deadline = DeadlineAfter(options.timeout);
  auto connection = Now(deadline);
  std::unique_ptr<client::Question> question;
  if (contents.size() <= wire::kMaxMessagePut) {
    question = client::Asking(std::move(connection), SmallPut(id, contents, options), deadline);
  } else {
    const auto put =
        std::make_shared<AsyncPut>(connection, id, std::move(contents), std::move(owner), deadline);
    put->Start(ForDraft(options));
    question = std::make_unique<client::Question>(std::move(connection), put->done(), deadline,
                                                  [put](const Error& why) { put->GiveUp(why); });
  }
  return client::FutureOf<ObjectId>(
      std::move(question), client::Naming(id),
      [id](const Answer& /*answer*/) -> Result<ObjectId> { return id; });
}

Result<Draft> Client::Create(const ObjectId& id, std::uint64_t size_bytes,
                             const CreateOptions& options) {
  return state_->Creating(id, size_bytes, options).Wait(options.stop);
}

Result<void> Client::Fail(const ObjectId& id, const Error& error, const FailOptions& options) {
  if (!IsUtf8(error.message)) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                 fmt::format("the error of object {} has a message of {} bytes "
                                             "that is no text in UTF-8",
                                             id.ToHex(), error.message.size())));
  }
  const Time deadline = DeadlineAfter(options.timeout);
  // As much as an object's metadata may have: no more need travel.
  const Error cut(error.code, std::string(FirstBytes(error.message, kMaxMetadataBytes)));
  TRY(state_->Now(deadline)->Call(Failure(id, cut, options), deadline));
  return {};
}

Result<Buffer> Client::Get(const ObjectId& id, const CallOptions& options) {
  return GetAsync(id, options).Wait(options.stop);
}

Future<Buffer> Client::GetAsync(const ObjectId& id, const CallOptions& options) {
  return state_->Getting(id, options).Begin();
}

std::vector<Result<Buffer>> Client::GetMany(std::span<const ObjectId> ids,
                                            const CallOptions& options) {
  const client::Interruption by_caller(options.stop);
  const Time deadline = DeadlineAfter(options.timeout);
  return client::GetMany(state_->Now(deadline), ids, deadline, options.only_if_owned);
}

Result<std::uint64_t> Client::GetInto(const ObjectId& id, std::span<std::byte> into,
                                      const CallOptions& options) {
  return GetManyInto(std::span(&id, 1), std::span(&into, 1), options).front();
}

std::vector<Result<std::uint64_t>> Client::GetManyInto(std::span<const ObjectId> ids,
                                                       std::span<const std::span<std::byte>> into,
                                                       const CallOptions& options) {
  if (ids.size() != into.size()) {
    const Error wrong(ErrorCode::kInvalidArgument,
                      fmt::format("there is memory for {} objects, but {} are asked for",
                                  into.size(), ids.size()));
    return std::vector<Result<std::uint64_t>>(ids.size(), std::unexpected(wrong));
  }
  const auto room = [into](std::size_t place, const std::string&,
                           std::uint64_t) -> Result<std::span<std::byte>> { return into[place]; };
  return ClientAccess::GetManyInto(*this, ids, room, options);
}

std::vector<Result<std::uint64_t>> ClientAccess::GetManyInto(Client& client,
                                                             std::span<const ObjectId> ids,
                                                             const client::RoomForEach& room_for,
                                                             const CallOptions& options) {
  const client::Interruption by_caller(options.stop);
  const Time deadline = DeadlineAfter(options.timeout);
  return client::GetManyInto(client.state_->Now(deadline), ids, room_for,
                             {.deadline = deadline, .only_if_owned = options.only_if_owned});
}

std::unique_ptr<client::Question> ClientAccess::UntilEnd(Client& client, Time deadline) {
  auto connection = client.state_->Now(deadline);
  auto pending = connection->UntilEnd(connection->NextId());
  return std::make_unique<client::Question>(std::move(connection), std::move(pending), kNever);
}

Result<Reader> Client::Open(const ObjectId& id, const CallOptions& options) {
  return state_->Opening(id, options).Wait(options.stop);
}

// In parts, one after the other. An error of one object does not keep the others from being asked
// for; one that every later part would have, too, does.
Result<void> Client::State::OnEach(std::span<const ObjectId> ids, const CallOptions& options,
                                   RequestOf request_of) {
  const client::Interruption by_caller(options.stop);
  const Time deadline = DeadlineAfter(options.timeout);
  const auto connection = Now(deadline);
  Result<void> outcome;
  while (!ids.empty()) {
    const auto part = ids.first(std::min(ids.size(), wire::kMaxObjects));
    ids = ids.subspan(part.size());
    const Result<Answer> answer = connection->Call(request_of(part, options), deadline);
    if (answer) continue;
    if (outcome) outcome = std::unexpected(answer.error());
    if (IsLasting(answer.error().code)) break;
  }
  return outcome;
}

Future<void> Client::State::BeginOnEach(std::span<const ObjectId> ids, const CallOptions& options,
                                        RequestOf request_of) {
  const Time deadline = DeadlineAfter(options.timeout);
  auto connection = Now(deadline);
  if (ids.size() > kMaxIdsAtOnce) {
    connection = client::Connection::Ended(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("{} ids; at most {} are taken at once", ids.size(), kMaxIdsAtOnce)));
  }
  return client::FutureOf<void>(
      client::Asking(std::move(connection), request_of(ids, options), deadline),
      ids.size() == 1 ? client::Naming(ids.front()) : fmt::format("{} objects", ids.size()),
      [](const Answer& /*answer*/) { return Result<void>(); });
}

Result<void> Client::Delete(const ObjectId& id, const CallOptions& options) {
  return Delete(std::span(&id, 1), options);
}

Result<void> Client::Delete(std::span<const ObjectId> ids, const CallOptions& options) {
  return state_->OnEach(ids, options, DeletionOf);
}

Future<void> Client::DeleteAsync(std::span<const ObjectId> ids, const CallOptions& options) {
  return state_->BeginOnEach(ids, options, DeletionOf);
}

Result<void> Client::Own(const ObjectId& id, const CallOptions& options) {
  return Own(std::span(&id, 1), options);
}

Result<void> Client::Own(std::span<const ObjectId> ids, const CallOptions& options) {
  return state_->OnEach(ids, options, OwningOf);
}

Future<void> Client::OwnAsync(std::span<const ObjectId> ids, const CallOptions& options) {
  return state_->BeginOnEach(ids, options, OwningOf);
}

Result<void> Client::Disown(const ObjectId& id, const CallOptions& options) {
  return Disown(std::span(&id, 1), options);
}

Result<void> Client::Disown(std::span<const ObjectId> ids, const CallOptions& options) {
  return state_->OnEach(ids, options, DisowningOf);
}

// What was owned through a connection that has ended is not owned through another one.
void Client::DisownSoon(std::span<const ObjectId> ids) {
  if (!state_->process.here()) return;
  const auto connection = state_->Current();
  while (!ids.empty()) {
    const auto part = ids.first(std::min(ids.size(), wire::kMaxObjects));
    ids = ids.subspan(part.size());
    Request request = DisowningOf(part);
    request.set_id(connection->NextId());  // of an answer that nobody waits for
    connection->Tell(request);
  }
}

Result<ObjectInfo> Client::Info(const ObjectId& id, const CallOptions& options) {
  return std::move(Info(std::span(&id, 1), options).front());
}

std::vector<Result<ObjectInfo>> Client::Info(std::span<const ObjectId> ids,
                                             const CallOptions& options) {
  const client::Interruption by_caller(options.stop);
  const Time deadline = DeadlineAfter(options.timeout);
  return client::AskForInfos(*state_->Now(deadline), ids, deadline);
}

Result<std::string> Client::Why(const ObjectId& id, const CallOptions& options) {
  Request request;
  request.mutable_why()->set_object(IdBytes(id));
  const client::Interruption by_caller(options.stop);
  const Time deadline = DeadlineAfter(options.timeout);
  TRY_ASSIGN(Answer answer, state_->Now(deadline)->Call(std::move(request), deadline));
  return std::move(*answer.mutable_reason()->mutable_text());
}

Result<std::vector<ObjectId>> Client::WaitExists(std::span<const ObjectId> ids, std::size_t count,
                                                 const CallOptions& options) {
  return state_->WaitingForExistence(ids, count, options).Wait(options.stop);
}

Result<std::vector<ObjectId>> Client::WaitGone(std::span<const ObjectId> ids,
                                               const CallOptions& options) {
  if (ids.empty() || ids.size() > kMaxIdsAtOnce) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("{} ids to wait for; 1 to {} are taken", ids.size(), kMaxIdsAtOnce)));
  }
  Request request;
  request.mutable_wait_gone()->set_objects(client::Concatenated(ids));
  request.mutable_wait_gone()->set_only_if_owned(options.only_if_owned);
  const client::Interruption by_caller(options.stop);
  const Time deadline = DeadlineAfter(options.timeout);
  TRY_ASSIGN(const Answer answer, state_->Now(deadline)->Call(std::move(request), deadline));
  return client::Named(answer.existing(), ids);
}

Result<DrainOutcome> Client::Drain(std::chrono::milliseconds timeout) {
  return state_->Draining(timeout).Wait();
}

std::string Client::node_name() const { return state_->NodeName(); }

Result<std::string> Client::cluster_id(const CallOptions& options) const {
  Request request;
  request.mutable_identify();
  const client::Interruption by_caller(options.stop);
  const Time deadline = DeadlineAfter(options.timeout);
  TRY_ASSIGN(const Answer answer, state_->Now(deadline)->Call(std::move(request), deadline));
  return fmt::format("{:016x}", answer.identity().cluster_id());
}

Result<Subscription> Client::Subscribe(const ObjectId& id, const CallOptions& options) {
  const client::Interruption by_caller(options.stop);
  const Time deadline = DeadlineAfter(options.timeout);
  const auto connection = state_->Now(deadline);
  const std::uint64_t made_by = connection->NextId();
  auto queue = std::make_shared<LocationQueue>();
  connection->AddSink(made_by, queue);  // before the first change can come
  auto impl = std::make_unique<Subscription::Impl>(connection, made_by, std::move(queue));
  Request request;
  request.set_id(made_by);
  request.mutable_subscribe()->set_object(IdBytes(id));
  TRY(connection->Call(std::move(request), deadline));
  return Subscription(std::move(impl));
}

Result<ClusterStatus> ClientAccess::Status(Client& client, std::chrono::milliseconds timeout,
                                           std::uint64_t max_objects, Duration patience) {
  const Time deadline = DeadlineAfter(timeout);
  return client::AskForStatus(*client.state_->Now(deadline), deadline, max_objects, patience);
}

Result<ClusterStatus> Client::Status(const CallOptions& options, std::uint64_t max_objects) {
  const client::Interruption by_caller(options.stop);
  const Time deadline = DeadlineAfter(options.timeout);
  return client::AskForStatus(*state_->Now(deadline), deadline, max_objects);
}

}  // namespace hoplite
