// The requests that ask what there is, and move no object.
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "node/core/counted.h"
#include "node/local/existence.h"
#include "node/local/local_convert.h"
#include "node/local/local_session.h"
#include "node/local/request_errors.h"
#include "wire/pictures.h"

namespace hoplite::node {
namespace {

Error NeverComes(const ObjectId& gone, std::uint32_t count) {
  return {
      ErrorCode::kDeleted,
      fmt::format("{} of these objects will not exist any more: {} was deleted, or nobody owns it",
                  count, gone.ToHex())};
}

}  // namespace

LocalSession::Handled LocalSession::Status(const local::Status& body, CallPtr call,
                                           local::Answer& answer) {
  CO_TRY_ASSIGN(const protocol::PageRequest page, ReadPage(body));
  CO_TRY_ASSIGN(protocol::StatusPage shown,
                co_await operations_.Status(body.shard(), page, std::move(call)));
  for (protocol::NodeView& node : shown.nodes) {
    if (node.node.name != operations_.name()) continue;
    node.usage.memory_bytes = operations_.store().usage().capacity_bytes;
    node.usage.used_bytes = operations_.store().usage().used_bytes;
  }
  auto& status = *answer.mutable_status();
  *status.mutable_page() = wire::ToProto(shown);
  FillClients(clients(), *status.mutable_clients());
  status.mutable_clients()->set_owned(operations_.owned().count);
  status.mutable_clients()->set_max_owned(operations_.owned().limit);
  if (status.ByteSizeLong() + 64 > wire::kMaxLocalAnswer) {
    answer.clear_status();
    co_return std::unexpected(
        Error(ErrorCode::kResourceExhausted, "the status is too large for one answer"));
  }
  co_return Result<void>();
}

LocalSession::Handled LocalSession::Subscribe(Id id, ObjectId object) {
  const std::weak_ptr<LocalChannel> channel = channel_;
  std::function<void(const protocol::Location&)> tell = [channel,
                                                         id](const protocol::Location& location) {
    const auto open = channel.lock();
    if (!open) return;
    local::Answer news;
    news.set_id(id);
    FillLocation(location, *news.mutable_location());
    open->Send(news);
  };
  co_return Keep(id, SubscriptionEntry{operations_.Subscribe(object, std::move(tell))});
}

LocalSession::Handled LocalSession::WaitExists(const local::WaitExists& body, CallPtr call,
                                               local::Answer& answer) {
  CO_TRY_ASSIGN(std::vector<ObjectId> objects, ReadObjects(body));
  const std::uint32_t limit = clients().limits().pins;
  if (pins() + objects.size() > limit) co_return std::unexpected(TooMany("pins", limit));
  const Counted<> counted(watched_, objects.size());
  call->only_if_owned = body.only_if_owned();
  const Existence existence(operations_, std::move(objects), *call);
  bool in_time = true;
  while (existence.count() < body.count() && in_time && !call->cancelled) {
    const auto gone = existence.Missing(body.count());
    if (gone) co_return std::unexpected(NeverComes(*gone, body.count()));
    in_time = co_await call->changed.Wait(call->deadline);
  }
  if (call->cancelled) {
    co_return std::unexpected(Error(ErrorCode::kCancelled, "the wait was cancelled"));
  }
  for (const std::uint32_t place : existence.Existing()) {
    answer.mutable_existing()->add_places(place);
  }
  co_return Result<void>();
}

LocalSession::Handled LocalSession::WaitGone(const local::WaitGone& body, CallPtr call,
                                             local::Answer& answer) {
  CO_TRY_ASSIGN(std::vector<ObjectId> objects, ReadObjects(body.objects(), wire::kMaxObjects));
  const std::uint32_t limit = clients().limits().pins;
  if (pins() + objects.size() > limit) co_return std::unexpected(TooMany("pins", limit));
  const Counted<> counted(watched_, objects.size());
  call->only_if_owned = body.only_if_owned();
  const Existence existence(operations_, std::move(objects), *call);
  bool in_time = true;
  while (existence.Gone().empty() && in_time && !call->cancelled) {
    in_time = co_await call->changed.Wait(call->deadline);
  }
  if (call->cancelled) {
    co_return std::unexpected(Error(ErrorCode::kCancelled, "the wait was cancelled"));
  }
  for (const std::uint32_t place : existence.Gone()) answer.mutable_existing()->add_places(place);
  answer.mutable_existing();
  co_return Result<void>();
}

LocalSession::Handled LocalSession::Identify(local::Answer& answer) {
  const std::uint64_t id = operations_.cluster_id();
  if (id == 0) {
    co_return std::unexpected(
        Error(ErrorCode::kUnavailable,
              "the node has not reached the directory's first shard since it was started"));
  }
  answer.mutable_identity()->set_cluster_id(id);
  co_return Result<void>();
}

LocalSession::Handled LocalSession::Why(ObjectId object, CallPtr call, local::Answer& answer) {
  Explanation why = co_await operations_.Why(object, std::move(call));
  answer.mutable_reason()->set_unfinished(std::move(why.unfinished));
  answer.mutable_reason()->set_text(std::move(why.text));
  co_return Result<void>();
}

LocalSession::Handled LocalSession::Drain(CallPtr call, local::Answer& answer) {
  CO_TRY_ASSIGN(const DrainOutcome outcome, co_await operations_.Drain(std::move(call)));
  auto& drained = *answer.mutable_drained();
  drained.set_handed_on(outcome.handed_on);
  drained.set_left_count(outcome.left_count);
  for (const LeftObject& left : outcome.left) {
    auto& added = *drained.add_left();
    added.set_object(std::string(left.id.view()));
    FillError(left.why, *added.mutable_why());
  }
  co_return Result<void>();
}

}  // namespace hoplite::node
