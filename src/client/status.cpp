#include "client/status.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/try.h"
#include "client/convert.h"

namespace hoplite::client {
namespace {

// As many as the node likes to say at once.
constexpr std::uint64_t kPage = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Result<ClusterStatus> AskForStatus(Connection& connection, Time deadline,
                                   std::uint64_t max_objects) {
  ClusterStatus status;
  std::uint32_t shards = 1;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    std::string after;
    std::uint64_t left = max_objects;
    for (bool more = true; more;) {
      local::Request request;
      request.mutable_status()->set_shard(shard);
      request.mutable_status()->set_after(after);
      request.mutable_status()->set_limit(
          static_cast<std::uint32_t>(std::clamp(left, std::uint64_t{1}, kPage)));
      TRY_ASSIGN(const local::Answer answer, connection.Call(std::move(request), deadline));
      const auto& page = answer.status();
      if (after.empty()) AddShard(page, status);
      // One page may have one object more than is wanted: a request for none asks for one.
      for (const auto& object : page.objects()) {
        if (left == 0) break;
        status.objects.push_back(ToObjectInfo(object));
        --left;
      }
      shards = page.shard_count();
      more = page.more() && left > 0 && page.objects_size() > 0;
      if (more) after = page.objects(page.objects_size() - 1).object();
    }
  }
  std::ranges::sort(status.objects, {}, &ObjectInfo::id);
  if (status.objects.size() > max_objects) status.objects.resize(max_objects);
  return status;
}

}  // namespace hoplite::client
