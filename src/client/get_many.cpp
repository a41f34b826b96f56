#include "client/get_many.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "client/client_access.h"
#include "client/convert.h"
#include "client/futures.h"
#include "wire/local_protocol.h"

namespace hoplite::client {
namespace {

// One request of several that are under way.
struct Part {
  std::vector<std::size_t> places;
  PendingPtr pending;
};

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

// One for each place of the part.
std::vector<Result<Viewed>> ReadPart(std::span<const ObjectId> ids,
                                     std::span<const std::size_t> places, std::uint64_t first_id,
                                     const Result<local::Answer>& answer) {
  std::vector<Result<Viewed>> read;
  read.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!answer) {
      read.emplace_back(std::unexpected(answer.error()));
    } else if (answer->views().got_size() != static_cast<int>(places.size())) {
      read.emplace_back(
          std::unexpected(Error(ErrorCode::kProtocol, "the node answered for other objects")));
    } else {
      read.push_back(Read(ids[places[i]], first_id + i, static_cast<int>(i), answer->views()));
    }
  }
  return read;
}

std::vector<Part> BeginParts(const std::shared_ptr<Connection>& connection,
                             std::span<const ObjectId> ids, Time deadline, bool only_if_owned) {
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
    parts.push_back(
        {{places.begin(), places.end()}, connection->Begin(std::move(request), deadline)});
  }
  return parts;
}

Result<Buffer> BufferOf(const std::shared_ptr<Connection>& connection, const ObjectId& id,
                        const Result<Viewed>& viewed) {
  return viewed.and_then([&](const Viewed& one) {
    return ClientAccess::MakeBuffer(connection, id, one.made_by, one.view);
  });
}

// What one request of several brought, by places.
using Brought = std::vector<std::pair<std::size_t, Result<Buffer>>>;

Future<Brought> BroughtBy(const std::shared_ptr<Connection>& connection,
                          const std::shared_ptr<const std::vector<ObjectId>>& ids, Part part,
                          Time deadline) {
  auto question = std::make_unique<Question>(connection, part.pending, deadline);
  const auto read = [connection, ids, part](const Result<local::Answer>& outcome) {
    const auto views = ReadPart(*ids, part.places, part.pending->id(), outcome);
    Brought brought;
    for (std::size_t i = 0; i < views.size(); ++i) {
      const std::size_t place = part.places[i];
      brought.emplace_back(place, BufferOf(connection, (*ids)[place], views[i]));
    }
    return Result<Brought>(std::move(brought));
  };
  return FutureOfOutcome<Brought>(std::move(question), "several objects", read);
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

std::vector<ObjectId> Named(const local::Existing& answer, std::span<const ObjectId> ids) {
  std::vector<ObjectId> named;
  for (const std::uint32_t place : answer.places()) {
    if (place < ids.size()) named.push_back(ids[place]);
  }
  return named;
}

std::vector<Result<Viewed>> ViewMany(const std::shared_ptr<Connection>& connection,
                                     std::span<const ObjectId> ids, Time deadline,
                                     bool only_if_owned) {
  std::vector<std::optional<Result<Viewed>>> answers(ids.size());
  for (const Part& part : BeginParts(connection, ids, deadline, only_if_owned)) {
    auto read =
        ReadPart(ids, part.places, part.pending->id(), connection->Finish(part.pending, deadline));
    for (std::size_t i = 0; i < read.size(); ++i) answers[part.places[i]] = std::move(read[i]);
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
    given.push_back(BufferOf(connection, ids[place], views[place]));
  }
  return given;
}

Future<std::vector<Result<Buffer>>> GetManyAsync(const std::shared_ptr<Connection>& connection,
                                                 std::span<const ObjectId> ids, Time deadline,
                                                 bool only_if_owned) {
  using Buffers = std::vector<Result<Buffer>>;
  const auto kept = std::make_shared<const std::vector<ObjectId>>(ids.begin(), ids.end());
  std::vector<Future<Brought>> parts;
  for (Part& part : BeginParts(connection, *kept, deadline, only_if_owned)) {
    parts.push_back(BroughtBy(connection, kept, std::move(part), deadline));
  }
  return WhenAll(std::move(parts)).Then([kept](Result<std::vector<Result<Brought>>> all) {
    const Error nobody(ErrorCode::kCancelled, "nobody waits for the answers");
    Buffers buffers(kept->size(), Result<Buffer>(std::unexpected(nobody)));
    if (!all) return Result<Buffers>(std::unexpected(all.error()));
    for (Result<Brought>& part : *all) {
      for (auto& [place, buffer] : part.value()) buffers[place] = std::move(buffer);
    }
    return Result<Buffers>(std::move(buffers));
  });
}

}  // namespace hoplite::client
