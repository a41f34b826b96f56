#include "node/assembly.h"

#include <utility>

#include <asio/post.hpp>

#include "base/try.h"
#include "directory/cluster_id.h"
#include "node/own_address.h"
#include "node/pull/flight.h"
#include "node/pull/read_back.h"
#include "node/put/publication.h"
#include "node/reduce/slot.h"

namespace hoplite::node {
namespace {

constexpr Duration kSweepEvery = std::chrono::seconds(1);

}  // namespace

Settings MakeSettings(const NodeConfig& config) {
  Settings settings;
  settings.self = RandomNodeId();
  settings.name =
      config.name.empty() ? "node-" + ToString(settings.self).substr(0, 8) : config.name;
  settings.site = config.site;
  settings.cluster_id = directory::ClusterId(config.cluster, config.directory.size());
  settings.directory = config.directory;
  settings.keepalive = config.keepalive;
  settings.stall = config.stall;
  settings.max_fetches = config.max_fetches;
  settings.max_owned = config.max_owned;
  return settings;
}

Assembly::Assembly(const NodeConfig& config_in, Settings settings_in,
                   const Environment& environment, std::shared_ptr<store::SharedSegment> segment_in,
                   std::shared_ptr<store::Disk> disk)
    : config(config_in),
      settings(std::move(settings_in)),
      runtime(config_in.data_threads),
      segment(std::move(segment_in)),
      store(segment, [this] { asio::post(runtime.main(), [this] { memory.OnSpace(); }); }),
      directory(environment.directory(runtime.main())),
      decisions(environment.decisions),
      memory(store, *directory,
             settings.rooms.value_or(Rooms::LimitsOf(store.usage().capacity_bytes))),
      spiller(MakeSpiller(std::move(disk))),
      owners(runtime.main(), *directory, settings.max_owned),
      registers(*directory, [this](const ObjectId& id) { return context.IfAway(id); }),
      context{settings, runtime, store,     *directory, memory,
              table,    owners,  registers, counters,   *decisions},
      data_plane(context, environment.transport(runtime.data_loops())),
      gives(context, data_plane),
      server(context, data_plane, gives),
      drainage(context),
      calls(context, data_plane, drainage),
      shard_words(context, data_plane, gives, drainage),
      inventory(context, environment.process),
      long_waits(context),
      ticked(runtime.main()) {}

std::unique_ptr<Spiller> Assembly::MakeSpiller(std::shared_ptr<store::Disk> disk) {
  if (!disk) return nullptr;
  auto made = std::make_unique<Spiller>(
      store, *directory, runtime.main(), std::move(disk), decisions->Spill(),
      Spiller::Settings{.node = settings.name,
                        .limit_bytes = config.spill_limit_bytes,
                        .gather_below = settings.gather_below},
      Spiller::Hooks{.on_room = [this] { memory.OnSpace(); },
                     .on_lost = [this](const store::CopyPtr& copy) { OnCopyLost(copy); }});
  memory.SpillWith(*made);
  return made;
}

// The shard sends nobody here for it any more; whoever reads it goes to the next holder (R125).
void Assembly::OnCopyLost(const store::CopyPtr& copy) {
  store.Remove(copy->object());
  copy->Void(store::VoidReason::kLost);
  directory->Send(
      protocol::CopyGone{copy->object(), copy->version(), protocol::GoneReason::kDropped});
  table.At(copy->object())->Changed();
}

Result<void> Assembly::Listen() {
  TRY(data_plane.Listen(config.listen, [this](DataLoop& data_loop, net::StreamPtr stream) {
    server.Accept(data_loop, std::move(stream));
  }));
  TRY_ASSIGN(address, AdvertisedAddress(config, data_plane.address()));
  return {};
}

void Assembly::Join() {
  directory::DirectoryClient::Hooks hooks;
  hooks.on_action = [this](const protocol::NodeAction& action) { shard_words.OnAction(action); };
  hooks.holds = [this](std::size_t shard) {
    return store.HasAny([&](const ObjectId& id) { return context.ShardOf(id) == shard; });
  };
  hooks.inventory = [this](std::size_t shard, const auto& after, std::size_t bytes,
                           const auto& told) { return inventory.Tell(shard, after, bytes, told); };
  hooks.inventory_of = [this](const ObjectId& object) { return inventory.Of(object); };
  hooks.inline_bytes = [this](std::size_t shard, const auto& after, std::size_t bytes) {
    return inventory.InlineBytes(shard, after, bytes);
  };
  hooks.owner_number = [this](std::size_t shard) { return owners.number(shard); };
  hooks.register_number = [this](std::size_t shard) { return registers.number(shard); };
  hooks.on_owner_terms = [this](std::size_t shard, const auto& terms) {
    owners.OnTerms(shard, terms);
    registers.OnSession(shard, true);
  };
  hooks.on_session = [this](std::size_t shard, bool open) { shard_words.OnSession(shard, open); };
  hooks.on_outlived = [this](std::size_t shard) { shard_words.OnOutlived(shard); };
  hooks.on_lost = [this](std::size_t shard) { shard_words.OnLost(shard); };
  hooks.on_settled = [this](std::size_t shard) { admittance.Settled(shard); };
  hooks.on_refused = [this](const Error& error) {
    const std::string why = "the directory refuses this node: " + error.message;
    EndAll(Error(ErrorCode::kUnavailable, why));
    admittance.Refused(Error(error.code, why));
  };
  const bool limited = config.link_bytes_per_second == 0;
  const std::uint64_t told = limited ? config.rate_bytes_per_second : config.link_bytes_per_second;
  data_plane.credit().Tell(told);
  directory->Start({.id = settings.self,
                    .name = settings.name,
                    .address = address,
                    .site = settings.site,
                    .link_bytes_per_second = told},
                   std::move(hooks));
  runtime.Spawn(runtime.main(), "sweep", SweepNowAndThen());
}

void Assembly::Stop(const Error& why) {
  stopping = true;
  ticked.Notify();
  EndAll(why);
  drainage.Stop();
  data_plane.Stop();
}

void Assembly::EndAll(const Error& why) {
  table.Close(why);
  registers.Stop(why);
  for (const auto& [object, entry] : table.entries()) {
    if (entry->flight()) entry->flight()->Stop(why);
    if (entry->read_back()) entry->read_back()->Stop();
    for (const auto& [number, here] : entry->slots()) here.slot->Drop(store::VoidReason::kLost);
    const auto publication = entry->publication();
    if (publication && !publication->accepted()) publication->Refuse(why);
    entry->Changed();
  }
}

net::Task<void> Assembly::SweepNowAndThen() {
  while (!stopping) {
    co_await ticked.Wait(Now() + kSweepEvery);
    table.Sweep(Now());
    memory.Tick();
    long_waits.Tick();
    directory->Send(inventory.Usage());
  }
}

}  // namespace hoplite::node
