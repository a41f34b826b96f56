// The parts of a node that speak to peers, without threads: the user turns the loops.
#pragma once

#include <memory>
#include <utility>

#include "base/units.h"
#include "fuzz/script.h"
#include "node/context.h"
#include "node/owners/owners.h"
#include "node/streams/data_plane.h"
#include "store/segment.h"
#include "testing/no_directory.h"

namespace hoplite::fuzz {

// Each connect gives the stream that was put into it.
class OneStream final : public net::Transport {
 public:
  explicit OneStream(net::StreamPtr& next) : next_(next) {}
  Result<std::unique_ptr<net::Listener>> Listen(const std::string&,
                                                std::function<void(net::StreamPtr)>) override {
    return std::unexpected(Error(ErrorCode::kUnavailable, "nobody listens here"));
  }
  net::Task<Result<net::StreamPtr>> Connect(std::string /*address*/, Duration) override {
    co_return std::exchange(next_, nullptr);
  }

 private:
  net::StreamPtr& next_;
};

struct NodeParts {
  NodeParts() {
    settings.self = kSelf;
    settings.cluster_id = kCluster;
  }
  // Runs until nothing is left to do but to wait.
  void Turn() {
    while (runtime.main().poll() + runtime.data(0).poll() > 0) {
    }
  }

  node::Settings settings;
  node::Counters counters;
  node::Runtime runtime{1};
  store::ObjectStore store{store::CreateHeapSegment(1_MiB), nullptr};
  testing::NoDirectory directory;
  node::MemoryBroker memory{store, directory};
  node::ObjectTable table;
  node::Decisions decisions;
  node::Owners owners{runtime.main(), directory, settings.max_owned};
  node::Context services{.settings = settings,
                         .runtime = runtime,
                         .store = store,
                         .directory = directory,
                         .memory = memory,
                         .table = table,
                         .owners = owners,
                         .counters = counters,
                         .decisions = decisions};
  net::StreamPtr next_stream;  // the next connection is this
  node::DataPlane data_plane{services, std::make_unique<OneStream>(next_stream)};
};

}  // namespace hoplite::fuzz
