// The requests that are about several objects.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/try.h"
#include "base/units.h"
#include "node/core/counted.h"
#include "node/local/gather.h"
#include "node/local/joint_gets.h"
#include "node/local/local_convert.h"
#include "node/local/local_session.h"
#include "node/local/request_errors.h"

namespace hoplite::node {
namespace {

using Gets = Gather<store::CopyPtr>;

constexpr std::size_t kViewWithoutMetadata = 128;
static_assert(wire::kMaxGetMany * (kMaxMetadataBytes + kViewWithoutMetadata) <
              wire::kMaxLocalAnswer);

net::Task<Result<store::CopyPtr>> GetOne(Operations& operations, ObjectId object, CallPtr call) {
  const auto together = call->together;
  CO_TRY_ASSIGN(store::CopyPtr copy, co_await operations.Get(object, std::move(call)));
  if (together) together->Add(*copy);
  co_return copy;
}

// Very many may be missing: their ends are not waited for.
std::shared_ptr<Gets> MakeGets(Operations& operations, std::vector<ObjectId> objects,
                               const CallPtr& call) {
  return std::make_shared<Gets>(
      operations, std::move(objects), call,
      [&operations](ObjectId object, CallPtr one) {
        return GetOne(operations, object, std::move(one));
      },
      [&operations](const ObjectId& id) {
        const store::CopyPtr copy = operations.store().Find(id);
        return copy && copy->state() == store::CopyState::kFinal && !copy->on_disk();
      });
}

using Infos = Gather<protocol::ObjectView>;

Error Cancelled() { return {ErrorCode::kCancelled, "the request was cancelled"}; }

// Of a gather that waits for each end.
template <typename T>
std::vector<Result<T>> AllOf(std::vector<std::optional<Result<T>>> ended) {
  std::vector<Result<T>> all;
  all.reserve(ended.size());
  for (auto& result : ended) all.push_back(*std::move(result));
  return all;
}

// The first error, and how many there are.
Result<void> FirstError(const std::vector<Result<void>>& results) {
  const auto failed = [](const Result<void>& result) { return !result.has_value(); };
  const auto first = std::ranges::find_if(results, failed);
  if (first == results.end() || results.size() == 1)
    return first == results.end() ? Result<void>() : *first;
  return std::unexpected(Error(
      first->error().code, fmt::format("{}; {} of {} objects have an error", first->error().message,
                                       std::ranges::count_if(results, failed), results.size())));
}

// Very many may have one reason: it is said once.
std::uint32_t NumberOf(std::string reason, local::Views& views) {
  const int last = views.reasons_size() - 1;
  if (last >= 0 && views.reasons(last) == reason) return static_cast<std::uint32_t>(last);
  *views.add_reasons() = std::move(reason);
  return static_cast<std::uint32_t>(last + 1);
}

}  // namespace

// All that the client wants together has to have room: it would wait in vain for the others.
Result<void> LocalSession::RoomFor(const local::GetMany& body, std::size_t count) const {
  const std::size_t limit = clients().limits().pins;
  const std::size_t all = std::max<std::size_t>(body.of(), count);
  const auto begun = joint_gets_.find(body.together());
  const bool first = begun == joint_gets_.end() || begun->second.expired();
  if (all <= limit && pins() + (first ? all : count) <= limit) return {};
  return std::unexpected(
      Error(ErrorCode::kResourceExhausted,
            fmt::format("{} objects are asked for together, and this client has {} pins of the {} "
                        "that its node allows: ask for fewer at a time",
                        all, pins(), limit)));
}

// Those of one number, while one of them is under way or its view is held.
std::shared_ptr<JointGets> LocalSession::TogetherOf(Id number) {
  if (number == 0) return nullptr;
  std::weak_ptr<JointGets>& known = joint_gets_[number];
  std::shared_ptr<JointGets> together = known.lock();
  if (!together) {
    together = std::make_shared<JointGets>(operations_.store().usage().capacity_bytes, togethers());
    known = together;
    std::erase_if(joint_gets_, [](const auto& item) { return item.second.expired(); });
  }
  return together;
}

LocalSession::Handled LocalSession::GetMany(const local::Request& request, CallPtr call,
                                            local::Answer& answer) {
  const local::GetMany& body = request.get_many();
  CO_TRY_ASSIGN(std::vector<ObjectId> objects, ReadObjects(body.objects(), wire::kMaxGetMany));
  CO_TRY(RoomFor(body, objects.size()));
  const auto together = call->together = TogetherOf(body.together());
  call->only_if_owned = body.only_if_owned();
  std::optional<Counted<>> counted(std::in_place, watched_, objects.size());
  const auto gets = MakeGets(operations_, std::move(objects), call);
  const auto results = co_await gets->Run();
  counted.reset();
  if (!results || ended_) co_return std::unexpected(Cancelled());
  local::Views& views = *answer.mutable_views();
  for (std::size_t place = 0; place < results->size(); ++place) {
    local::Views::Got& got = *views.add_got();
    if (const auto& result = (*results)[place]) {
      FillGot(*result, request.id() + place, together, got);
    } else {
      got.set_unfinished(NumberOf(operations_.WhyUnfinished(gets->objects()[place]), views));
    }
  }
  co_return Result<void>();
}

void LocalSession::FillGot(const Result<store::CopyPtr>& result, Id id,
                           const std::shared_ptr<JointGets>& together, local::Views::Got& got) {
  const auto keep = [&](store::CopyPtr copy) {
    return Keep(id, View{.copy = std::move(copy), .together = together});
  };
  const auto pin = [&](const store::CopyPtr& copy) { return holdings().Pin(copy); };
  const Result<void> kept = result.and_then(pin).and_then(keep);
  if (!kept) {
    NoteFailure(kept.error());
    return FillError(kept.error(), *got.mutable_error());
  }
  FillView(**result, *got.mutable_view());
}

LocalSession::Handled LocalSession::Info(const local::Info& body, CallPtr call,
                                         local::Answer& answer) {
  CO_TRY_ASSIGN(std::vector<ObjectId> objects, ReadObjects(body.objects(), wire::kMaxGetMany));
  const auto gather =
      std::make_shared<Infos>(operations_, std::move(objects), call,
                              [&operations = operations_](ObjectId object, CallPtr one) {
                                return operations.Info(object, std::move(one));
                              });
  auto results = co_await gather->Run();
  if (!results) co_return std::unexpected(Cancelled());
  constexpr std::size_t kFrame = 1_KiB;
  FillInfos(AllOf(*std::move(results)), wire::kMaxLocalAnswer - kFrame, *answer.mutable_infos());
  co_return Result<void>();
}

LocalSession::Handled LocalSession::ForEach(const std::string& ids, OnObject operation,
                                            CallPtr call) {
  CO_TRY_ASSIGN(std::vector<ObjectId> objects, ReadObjects(ids, wire::kMaxObjects));
  const auto gather = std::make_shared<Gather<void>>(
      operations_, std::move(objects), call,
      [&operations = operations_, operation](ObjectId object, CallPtr one) {
        return (operations.*operation)(object, std::move(one));
      });
  auto results = co_await gather->Run();
  if (!results) co_return std::unexpected(Cancelled());
  co_return FirstError(AllOf(*std::move(results)));
}

}  // namespace hoplite::node
