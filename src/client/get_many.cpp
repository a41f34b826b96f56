#include "client/get_many.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "client/client_access.h"
#include "client/convert.h"
#include "wire/local_protocol.h"

namespace hoplite::client {
namespace {

// One request of several that are under way.
struct Part {
  std::span<const std::size_t> places;
  PendingPtr pending;
};

using Answers = std::vector<std::optional<Result<Viewed>>>;

// Those at these places, in this order.
std::vector<ObjectId> Picked(std::span<const ObjectId> ids, std::span<const std::size_t> places) {
  std::vector<ObjectId> picked;
  picked.reserve(places.size());
  for (const std::size_t place : places) picked.push_back(ids[place]);
  return picked;
}

Error Unfinished(const ObjectId& object, std::uint32_t reason, const local::Views& views) {
  if (reason >= static_cast<std::uint32_t>(views.reasons_size())) {
    return {ErrorCode::kProtocol, "the node gave no reason for an object that is not complete"};
  }
  return {ErrorCode::kTimeout,
          "object " + object.ToHex() + ' ' + views.reasons(static_cast<int>(reason))};
}

// What came for the object at this place, whose view is named by `id`.
Result<Viewed> Read(const ObjectId& object, std::uint64_t id, int place,
                    const local::Views& views) {
  const local::Views::Got& got = views.got(place);
  if (got.has_error()) return std::unexpected(ToError(got.error()));
  if (got.has_unfinished()) return std::unexpected(Unfinished(object, got.unfinished(), views));
  return Viewed{id, got.view()};
}

void Take(std::span<const ObjectId> ids, const Part& part, const Result<local::Answer>& answer,
          Answers& answers) {
  const auto got = [&](std::size_t i) -> Result<Viewed> {
    if (!answer) return std::unexpected(answer.error());
    if (answer->views().got_size() != static_cast<int>(part.places.size())) {
      return std::unexpected(Error(ErrorCode::kProtocol, "the node answered for other objects"));
    }
    return Read(ids[part.places[i]], part.pending->id() + i, static_cast<int>(i), answer->views());
  };
  for (std::size_t i = 0; i < part.places.size(); ++i) answers[part.places[i]] = got(i);
}

}  // namespace

std::string Concatenated(std::span<const ObjectId> ids) {
  std::string bytes;
  bytes.reserve(ids.size() * ObjectId::kBytes);
  for (const ObjectId& id : ids) bytes += id.view();
  return bytes;
}

std::vector<std::size_t> OrderOfAsking(std::span<const ObjectId> ids, std::string_view node) {
  std::vector<std::pair<std::uint64_t, std::size_t>> ranks;
  ranks.reserve(ids.size());
  for (std::size_t place = 0; place < ids.size(); ++place) {
    ranks.emplace_back(Digest().Add(node).Add(ids[place]).value(), place);
  }
  std::ranges::sort(ranks);
  std::vector<std::size_t> order(ids.size());
  std::ranges::transform(ranks, order.begin(), [](const auto& rank) { return rank.second; });
  return order;
}

std::vector<Result<Viewed>> ViewMany(const std::shared_ptr<Connection>& connection,
                                     std::span<const ObjectId> ids, Time deadline,
                                     bool only_if_owned) {
  const std::vector<std::size_t> order = OrderOfAsking(ids, connection->node());
  const std::uint64_t together = connection->NextId();
  std::vector<Part> parts;
  for (std::size_t at = 0; at < order.size(); at += wire::kMaxGetMany) {
    const std::size_t count = std::min(order.size() - at, wire::kMaxGetMany);
    const std::span<const std::size_t> places(order.data() + at, count);
    local::Request request;
    request.set_id(connection->NextId(count));
    request.mutable_get_many()->set_objects(Concatenated(Picked(ids, places)));
    request.mutable_get_many()->set_together(together);
    request.mutable_get_many()->set_of(ids.size());
    request.mutable_get_many()->set_only_if_owned(only_if_owned);
    parts.push_back({places, connection->Begin(std::move(request), deadline)});
  }
  Answers answers(ids.size());
  for (const Part& part : parts) {
    Take(ids, part, connection->Finish(part.pending, deadline), answers);
  }
  std::vector<Result<Viewed>> given;
  given.reserve(ids.size());
  for (auto& answer : answers) given.push_back(*std::move(answer));
  return given;
}

std::vector<Result<Buffer>> GetMany(const std::shared_ptr<Connection>& connection,
                                    std::span<const ObjectId> ids, Time deadline,
                                    bool only_if_owned) {
  const std::vector<Result<Viewed>> views = ViewMany(connection, ids, deadline, only_if_owned);
  std::vector<Result<Buffer>> given;
  given.reserve(ids.size());
  for (std::size_t place = 0; place < ids.size(); ++place) {
    given.push_back(views[place].and_then([&](const Viewed& viewed) {
      return ClientAccess::MakeBuffer(connection, ids[place], viewed.made_by, viewed.view);
    }));
  }
  return given;
}

}  // namespace hoplite::client
