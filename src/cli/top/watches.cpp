#include "cli/top/watches.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "cli/web/same_process_port.h"
#include "directory/directory_client.h"
#include "directory/directory_service.h"
#include "directory/tcp_port.h"

namespace hoplite::cli::top {

std::vector<ShardPlace> PlacesOf(const std::vector<std::string>& addresses) {
  std::vector<ShardPlace> places;
  for (const std::string& address : addresses) places.push_back({address});
  return places;
}

std::unique_ptr<directory::ShardPort> PortTo(asio::io_context& loop, const ShardPlace& shard,
                                             const net::SecurityPtr& security) {
  if (shard.here) return std::make_unique<web::SameProcessPort>(loop, shard.here);
  return directory::MakeTcpPort(loop, shard.address, security);
}

Watches::Watches(asio::io_context& loop, const WatchOptions& options, std::function<void()> told)
    : tell_(std::move(told)) {
  for (const ShardPlace& shard : options.shards) {
    AskForLosses(loop, options, shard);
    shards_.push_back(
        std::make_unique<ShardWatch>(loop, shard.address, PortTo(loop, shard, options.security),
                                     options.timeout, options.between, [this] { tell_(); }));
  }
}

void Watches::Follow(const std::optional<ObjectId>& object) {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const bool here = object && directory::ShardOf(*object, shards_.size()) == i;
    shards_[i]->Follow(here ? object : std::nullopt);
  }
}

const Picture& Watches::Look() {
  std::vector<ShardLook> looks;
  for (const auto& shard : shards_) looks.push_back(shard->look());
  model_.Look(Now(), looks);
  return model_.picture();
}

bool Watches::all_told() const {
  return std::ranges::all_of(shards_, [](const auto& shard) { return shard->told(); });
}

bool Watches::none_answers() const {
  return std::ranges::none_of(shards_,
                              [](const auto& shard) { return shard->look().at != Time{}; });
}

// Nodes that were lost before anybody looked are known from the shards' decisions.
void Watches::AskForLosses(asio::io_context& loop, const WatchOptions& options,
                           const ShardPlace& shard) {
  if (!shard.here) {
    losses_.push_back(std::make_unique<directory::TraceQuestion>(
        loop, shard.address, options.security, options.timeout,
        [this](const auto& decisions) { NoteLosses(decisions); }));
    return;
  }
  for (const Recorded& decision : shard.here->Decisions()) {
    if (decision.what == Decided::kNodeLost) model_.Remember(decision.text, decision.when);
  }
}

void Watches::NoteLosses(const Result<std::vector<wire::TraceEntry>>& decisions) {
  if (!decisions) return;
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  for (const wire::TraceEntry& decision : *decisions) {
    const Duration ago = since_epoch - std::chrono::microseconds(decision.since_epoch_us);
    if (decision.what == Decided::kNodeLost && ago < kRemembered) {
      model_.Remember(decision.text, Now() - std::max(ago, Duration(0)));
    }
  }
}

}  // namespace hoplite::cli::top
