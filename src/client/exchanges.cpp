// What a client asks with one request: the calls that wait share it with those that don't.
#include <utility>

#include <fmt/format.h>

#include <hoplite/client.h>

#include "base/try.h"
#include "client/apart.h"
#include "client/client_access.h"
#include "client/convert.h"
#include "client/draft_impl.h"
#include "client/futures.h"
#include "client/get_many.h"
#include "client/infos.h"
#include "client/reader_impl.h"
#include "wire/local_protocol.h"

namespace hoplite {

using client::Exchange;
using client::IdBytes;
using client::Naming;
using client::local::Answer;
using client::local::Request;

static_assert(kMaxWaitExists == wire::kMaxWaitExists);

Exchange<Buffer> Client::State::Getting(const ObjectId& id, const CallOptions& options) {
  const Time deadline = client::DeadlineAfter(options.timeout);
  auto connection = Now(deadline);
  const std::uint64_t made_by = connection->NextId();
  Request request;
  request.set_id(made_by);
  request.mutable_get()->set_object(IdBytes(id));
  request.mutable_get()->set_only_if_owned(options.only_if_owned);
  const auto read = [connection, made_by, id](const Answer& answer) -> Result<Buffer> {
    if (answer.has_view()) {
      return ClientAccess::MakeBuffer(connection, id, made_by, answer.view());
    }
    return std::unexpected(Error(ErrorCode::kProtocol, "the node answered Get without bytes"));
  };
  return {std::move(connection), std::move(request), deadline, Naming(id), read};
}

Exchange<Reader> Client::State::Opening(const ObjectId& id, const CallOptions& options) {
  const Time deadline = client::DeadlineAfter(options.timeout);
  auto connection = Now(deadline);
  const std::uint64_t made_by = connection->NextId();
  Request request;
  request.set_id(made_by);
  request.mutable_open()->set_object(IdBytes(id));
  request.mutable_open()->set_only_if_owned(options.only_if_owned);
  const auto read = [connection, made_by, id](const Answer& answer) -> Result<Reader> {
    TRY_ASSIGN(auto impl, ClientAccess::MakeReader(connection, id, made_by, answer.view()));
    return Reader(std::move(impl));
  };
  return {std::move(connection), std::move(request), deadline, Naming(id), read};
}

Exchange<Draft> Client::State::Creating(const ObjectId& id, std::uint64_t size_bytes,
                                        const CreateOptions& options) {
  const Time deadline = client::DeadlineAfter(options.timeout);
  auto connection = Now(deadline);
  const std::uint64_t made_by = connection->NextId();
  Request request = Draft::Impl::Request(*connection, made_by, id, size_bytes, options);
  const auto read = [connection, made_by, id, size_bytes](const Answer& answer) -> Result<Draft> {
    TRY_ASSIGN(auto impl, Draft::Impl::Of(connection, made_by, id, size_bytes, answer));
    return Draft(std::move(impl));
  };
  return {std::move(connection), std::move(request), deadline, Naming(id), read};
}

Exchange<std::vector<ObjectId>> Client::State::WaitingForExistence(std::span<const ObjectId> ids,
                                                                   std::size_t count,
                                                                   const CallOptions& options) {
  const Time deadline = client::DeadlineAfter(options.timeout);
  auto connection = Now(deadline);
  if (ids.size() > kMaxWaitExists || count > ids.size()) {
    connection = client::Connection::Ended(
        Error(ErrorCode::kInvalidArgument, fmt::format("{} are to exist, of {} objects; at most {} "
                                                       "objects",
                                                       count, ids.size(), kMaxWaitExists)));
  }
  Request request;
  for (const ObjectId& id : ids) request.mutable_wait_exists()->add_objects(IdBytes(id));
  request.mutable_wait_exists()->set_count(static_cast<std::uint32_t>(count));
  request.mutable_wait_exists()->set_only_if_owned(options.only_if_owned);
  const auto read = [asked = std::vector(ids.begin(), ids.end())](const Answer& answer) {
    return Result<std::vector<ObjectId>>(client::Named(answer.existing(), asked));
  };
  return {std::move(connection), std::move(request), deadline, "the existence of objects", read};
}

Exchange<DrainOutcome> Client::State::Draining(std::chrono::milliseconds timeout) {
  const Time deadline = client::DeadlineAfter(timeout);
  Request request;
  request.mutable_drain();
  const auto read = [](const Answer& answer) {
    return Result<DrainOutcome>(client::ToDrainOutcome(answer.drained()));
  };
  return {Now(deadline), std::move(request), deadline, "the end of the drain", read};
}

Future<Reader> Client::OpenAsync(const ObjectId& id, const CallOptions& options) {
  return state_->Opening(id, options).Begin();
}

Future<Draft> Client::CreateAsync(const ObjectId& id, std::uint64_t size_bytes,
                                  const CreateOptions& options) {
  return state_->Creating(id, size_bytes, options).Begin();
}

Future<std::vector<ObjectId>> Client::WaitExistsAsync(std::span<const ObjectId> ids,
                                                      std::size_t count,
                                                      const CallOptions& options) {
  return state_->WaitingForExistence(ids, count, options).Begin();
}

Future<DrainOutcome> Client::DrainAsync(std::chrono::milliseconds timeout) {
  return state_->Draining(timeout).Begin();
}

Future<ObjectInfo> Client::InfoAsync(const ObjectId& id, const CallOptions& options) {
  const Time deadline = client::DeadlineAfter(options.timeout);
  const auto read = [](const Answer& answer) -> Result<ObjectInfo> {
    if (answer.infos().got_size() == 1) return client::ReadInfo(answer.infos().got(0));
    return std::unexpected(Error(ErrorCode::kProtocol, "the node answered for other objects"));
  };
  return client::FutureOf<ObjectInfo>(
      client::Asking(state_->Now(deadline), client::InfoOf({&id, 1}), deadline), Naming(id), read);
}

Future<std::vector<Result<Buffer>>> Client::GetManyAsync(std::span<const ObjectId> ids,
                                                         const CallOptions& options) {
  const Time deadline = client::DeadlineAfter(options.timeout);
  return client::GetManyAsync(state_->Now(deadline), ids, deadline, options.only_if_owned);
}

Future<void> Client::Prefetch(const ObjectId& id, const CallOptions& options) {
  return GetAsync(id, options).Then([](const Result<Buffer>& here) {
    return here.transform([](const Buffer&) {});
  });
}

Future<std::uint64_t> Client::GetIntoAsync(const ObjectId& id, std::span<std::byte> into,
                                           const CallOptions& options) {
  return client::Apart<std::uint64_t>::Run(
      state_->Current(), Naming(id),
      [client = *this, id, into, options]() mutable { return client.GetInto(id, into, options); });
}

}  // namespace hoplite
