// The parts of a node below those that speak to peers, with one data loop. No thread is started.
#pragma once

#include <string>
#include <utility>

#include "base/units.h"
#include "node/core/context.h"
#include "node/owners/owners.h"
#include "node/registers/registers.h"
#include "store/segment.h"
#include "testing/no_directory.h"

namespace hoplite::testing {

struct NodeParts {
  explicit NodeParts(node::Settings its) : settings(std::move(its)) {}

  const node::Settings settings;
  node::Counters counters;
  node::Runtime runtime{1};
  store::ObjectStore store{store::CreateHeapSegment(1_MiB), nullptr};
  NoDirectory directory;
  node::MemoryBroker memory{store, directory};
  node::ObjectTable table;
  node::Decisions decisions;
  node::Owners owners{runtime.main(), directory, settings.max_owned};
  node::Registers registers{directory, [](const ObjectId&) { return std::string(); }};
  node::Context context{.settings = settings,
                        .runtime = runtime,
                        .store = store,
                        .directory = directory,
                        .memory = memory,
                        .table = table,
                        .owners = owners,
                        .registers = registers,
                        .counters = counters,
                        .decisions = decisions};
};

}  // namespace hoplite::testing
