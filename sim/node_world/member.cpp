#include "sim/node_world/member.h"

#include <algorithm>
#include <utility>

#include <asio/post.hpp>
#include <fmt/format.h>

#include "base/try.h"
#include "node/pull/flight.h"
#include "node/reduce/slot.h"
#include "sim/node_world/planted_decisions.h"
#include "sim/node_world/planted_directory.h"
#include "sim/node_world/planted_transport.h"

namespace hoplite::node_world {
namespace {

constexpr std::uint64_t kMostAtOnce = 1000;

}  // namespace

Member::Member(const Surroundings& around, std::uint32_t index, net::HostId host,
               std::uint64_t number, std::shared_ptr<store::SharedSegment> segment)
    : time_(around.time),
      index_(index),
      host_(host),
      spins_(around.options.fault == PlantedFault::kSpinsForMemory),
      access_(std::make_shared<directory::SimDirectory::Access>(around.foreign)) {
  NodeConfig config;
  config.directory.assign(around.options.shards, "simulated");
  config.name = fmt::format("n{}", index + 1);
  config.listen = fmt::format("{}:7000", config.name);
  config.memory_bytes = around.options.memory_of(index);
  config.data_threads = around.options.data_loops;
  config.max_fetches = around.options.max_fetches;
  node::Settings settings = node::MakeSettings(config);
  settings.self = NodeId{number};
  settings.stripe_count = around.options.stripes;
  if (around.options.two_lanes) settings.two_lanes_from = 0;
  settings.rooms = around.options.rooms_of(index);

  node::Environment world;
  // The lambdas refer to this member and its surroundings, which outlive every node.
  world.directory = [this, &around](asio::io_context& loop) {
    return WithPlanted(around.options.fault, around.shards.MakeClient(loop, host_, access_));
  };
  world.decisions = DecisionsWith(around.options.fault);
  world.transport =
      [this, &around](std::vector<asio::io_context*> loops) -> std::unique_ptr<net::Transport> {
    auto transport = std::make_unique<net::SimTransport>(around.internet, host_, std::move(loops));
    transport_ = transport.get();
    return WithPlanted(around.options.fault, std::move(transport));
  };
  if (around.options.disk_bytes > 0) {
    config.spill_limit_bytes = around.options.disk_bytes;
    if (around.options.seed % 2 == 0) settings.gather_below = 0;
    disk_ = std::make_shared<SimDisk>(time_, around.options.disk, around.options.seed ^ number);
  }
  assembly_ = std::make_unique<node::Assembly>(config, std::move(settings), world,
                                               std::move(segment), disk_);
  loops_ = assembly_->runtime.all_loops();
}

Result<void> Member::Start() {
  TRY(assembly_->Listen());
  assembly_->Join();
  return {};
}

bool Member::RunReady(std::uint64_t first_loop) {
  if (time_.Now() < frozen_until_) return false;
  if (spins_ && assembly_->memory.waited_for()) {
    asio::post(assembly_->runtime.main(), [this] { assembly_->memory.OnSpace(); });
  }
  bool any = false;
  std::size_t next = first_loop % loops_.size();
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    asio::io_context& loop = *loops_[next];
    if (++next == loops_.size()) next = 0;
    // A loop whose work always makes more work is left after some turns, so that the spinning is
    // noticed.
    std::uint64_t ran = 0;
    while (ran < kMostAtOnce && loop.poll_one() > 0) ++ran;
    turns_ += ran;
    any |= ran > 0;
  }
  return any;
}

const ObjectId* Member::HeldUp() const {
  if (!assembly_->data_plane.gate().full()) return nullptr;
  for (const auto& [object, entry] : assembly_->table.entries()) {
    const bool input = std::ranges::any_of(
        entry->slots(), [](const auto& here) { return here.second.slot->held_up(); });
    if (input || (entry->flight() && entry->flight()->held_up())) return &object;
  }
  return nullptr;
}

void Member::Freeze(Time until) {
  frozen_until_ = std::max(frozen_until_, until);
  time_.At(frozen_until_, [] {});  // so that there is a step at that time
}

void Member::Die(net::Death death) {
  access_->Die(death);
  transport_->Die(death);
  frozen_until_ = Time{};
  Stop();
}

void Member::Stop() {
  if (std::exchange(leaving_, true)) return;
  asio::post(assembly_->runtime.main(),
             [this] { assembly_->Stop(Error(ErrorCode::kUnavailable, "the node is stopping")); });
}

}  // namespace hoplite::node_world
