// Assembly: one member of the cluster, wired, but for the way its clients come in. Whoever owns it
// starts and stops it, runs its loops, and destroys it only when no task is left: Node with
// threads, a simulation by turns.
#pragma once

#include <memory>
#include <string>

#include <hoplite/config.h>
#include <hoplite/result.h>

#include "net/signal.h"
#include "node/clients/client_calls.h"
#include "node/core/context.h"
#include "node/core/environment.h"
#include "node/drain/drainage.h"
#include "node/owners/owners.h"
#include "node/registers/registers.h"
#include "node/serve/serve.h"
#include "node/shard/admittance.h"
#include "node/shard/inventory.h"
#include "node/shard/long_waits.h"
#include "node/shard/shard_words.h"
#include "node/streams/data_plane.h"

namespace hoplite::node {

// With a new id.
Settings MakeSettings(const NodeConfig& config);

// Members in the order of their dependencies: each uses only those above it.
struct Assembly {
  Assembly(const NodeConfig& config_in, Settings settings_in, const Environment& environment,
           std::shared_ptr<store::SharedSegment> segment_in,
           std::shared_ptr<store::Disk> disk = nullptr);

  // Peers may fetch.
  Result<void> Listen();
  // The directory is told. On the main loop.
  void Join();
  // Refuses new calls, ends conversations and flights: tasks end soon after. On the main loop.
  void Stop(const Error& why);
  // Ends what is under way; whoever waits, and new calls, are answered with the first such reason.
  void EndAll(const Error& why);

  const NodeConfig config;
  const Settings settings;
  Counters counters;
  Runtime runtime;
  const std::shared_ptr<store::SharedSegment> segment;
  store::ObjectStore store;
  const std::unique_ptr<directory::DirectoryClient> directory;
  const std::shared_ptr<const Decisions> decisions;
  MemoryBroker memory;
  std::unique_ptr<Spiller> spiller;  // null: there is no disk
  ObjectTable table;
  Owners owners;
  Registers registers;
  Context context;
  DataPlane data_plane;
  Gives gives;
  Server server;
  Drainage drainage;
  ClientCalls calls;
  ShardWords shard_words;
  Inventory inventory;
  LongWaits long_waits;
  net::Signal ticked;
  Admittance admittance;
  bool stopping = false;  // main loop only
  std::string address;

 private:
  std::unique_ptr<Spiller> MakeSpiller(std::shared_ptr<store::Disk> disk);
  void OnCopyLost(const store::CopyPtr& copy);
  net::Task<void> SweepNowAndThen();
};

}  // namespace hoplite::node
