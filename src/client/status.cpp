#include "client/status.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/try.h"
#include "client/convert.h"

namespace hoplite::client {
namespace {

// As many as the node likes to say at once.
constexpr std::uint64_t kPage = std::numeric_limits<std::uint32_t>::max();

// One after the other: one that is silent leaves time for those that follow.
Time ShareOf(Time deadline, std::uint32_t shards_left) {
  if (deadline == kNever) return kNever;
  const Time now = Now();
  return now + std::max<Duration>(deadline - now, Duration{0}) / shards_left;
}

Time Soonest(Time deadline, Duration patience) {
  const Time now = Now();
  return patience > kNever - now ? deadline : std::min(deadline, now + patience);
}

// Asks for what one shard shows, page after page, and adds it.
Result<void> AddShardPages(Connection& connection, std::uint32_t shard, Time deadline,
                           Duration patience, std::uint64_t max_objects, ClusterStatus& status) {
  std::string after;
  std::uint64_t left = max_objects;
  for (bool more = true; more;) {
    local::Request request;
    request.mutable_status()->set_shard(shard);
    request.mutable_status()->set_after(after);
    request.mutable_status()->set_limit(
        static_cast<std::uint32_t>(std::clamp(left, std::uint64_t{1}, kPage)));
    TRY_ASSIGN(const local::Answer answer,
               connection.Call(std::move(request), Soonest(deadline, patience)));
    const auto& page = answer.status();
    if (after.empty()) AddShard(page, status);
    // One page may have one object more than is wanted: a request for none asks for one.
    for (const auto& object : page.objects()) {
      if (left == 0) break;
      status.objects.push_back(ToObjectInfo(object));
      --left;
    }
    more = page.more() && left > 0 && page.objects_size() > 0;
    if (more) after = page.objects(page.objects_size() - 1).object();
  }
  return {};
}

}  // namespace

bool LacksOne(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
}

void AddAway(const Error& why, std::size_t shard, ClusterStatus& status) {
  if (status.shards.size() <= shard) status.shards.emplace_back();
  status.shards[shard].away = why.message;
}

Result<ClusterStatus> WithWhatIsThere(ClusterStatus status, std::uint64_t max_objects,
                                      const std::optional<Error>& lacks) {
  const bool answered = std::ranges::any_of(
      status.shards, [](const ShardStatus& shard) { return shard.away.empty(); });
  if (!answered && lacks) return std::unexpected(*lacks);
  std::ranges::sort(status.objects, {}, &ObjectInfo::id);
  if (status.objects.size() > max_objects) status.objects.resize(max_objects);
  return status;
}

Result<ClusterStatus> AskForStatus(Connection& connection, Time deadline, std::uint64_t max_objects,
                                   Duration patience) {
  ClusterStatus status;
  std::optional<Error> lacks;  // the first
  // One that never attached answers why.
  const std::uint32_t shards = std::max(connection.shards(), 1u);
  if (shards == 1) patience = Duration::max();
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const Time until = ShareOf(deadline, shards - shard);
    const Result<void> added =
        AddShardPages(connection, shard, until, patience, max_objects, status);
    if (added) continue;
    if (!LacksOne(added.error()) || connection.lost()) return std::unexpected(added.error());
    if (!lacks) lacks = added.error();
    AddAway(added.error(), shard, status);
  }
  return WithWhatIsThere(std::move(status), max_objects, lacks);
}

}  // namespace hoplite::client
