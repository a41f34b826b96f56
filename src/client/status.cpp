#include "client/status.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/try.h"
#include "client/pictures.h"
#include "wire/pictures.h"

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

ClientsStatus ToClientsStatus(const local::ClusterStatus::Clients& clients) {
  return {.clients = clients.clients(),
          .requests = clients.requests(),
          .pins = clients.pins(),
          .most_requests = clients.most_requests(),
          .most_pins = clients.most_pins(),
          .requests_per_client = clients.requests_per_client(),
          .pins_per_client = clients.pins_per_client(),
          .owned = clients.owned(),
          .max_owned = clients.max_owned(),
          .most_held_bytes = clients.most_held_bytes(),
          .most_held_objects = clients.most_held_objects(),
          .quota_bytes = clients.quota_bytes(),
          .quota_objects = clients.quota_objects()};
}

// A shard's first page adds what the shard says of itself, that of the first one also the nodes.
void AddShard(const protocol::StatusPage& page, const local::ClusterStatus::Clients& clients,
              ClusterStatus& status) {
  status.shards.push_back(ToShardStatus(page.shard));
  if (!status.nodes.empty()) return;
  for (const protocol::NodeView& node : page.nodes) status.nodes.push_back(ToNodeStatus(node));
  status.clients = ToClientsStatus(clients);
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
    TRY_ASSIGN(const protocol::StatusPage page, wire::FromProto(answer.status().page()));
    if (after.empty()) AddShard(page, answer.status().clients(), status);
    const std::vector<protocol::ObjectView>& objects = page.page.objects;
    // One page may have one object more than is wanted: a request for none asks for one.
    for (const protocol::ObjectView& object : objects) {
      if (left == 0) break;
      status.objects.push_back(ToObjectInfo(object));
      --left;
    }
    more = page.page.more && left > 0 && !objects.empty();
    if (more) after = objects.back().object.view();
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
