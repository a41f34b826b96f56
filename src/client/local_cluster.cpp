#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <hoplite/directory.h>
#include <hoplite/local_cluster.h>

#include "base/try.h"

namespace hoplite {

struct LocalCluster::State {
  std::unique_ptr<Directory> directory;
  std::vector<std::unique_ptr<Node>> nodes;
};

Result<std::unique_ptr<LocalCluster>> LocalCluster::Start(const LocalClusterOptions& options) {
  auto state = std::make_unique<State>();
  // Nobody was there before, so the shard has nothing to learn from.
  TRY_ASSIGN(state->directory, Directory::Start({.recovery_window = std::chrono::milliseconds(0)}));
  const auto nodes = static_cast<std::uint32_t>(std::max<std::size_t>(options.nodes, 1));
  for (std::size_t i = 0; i < options.nodes; ++i) {
    TRY_ASSIGN(auto node, Node::Start({.directory = {state->directory->address()},
                                       .memory_bytes = options.memory_bytes,
                                       .name = "n" + std::to_string(i),
                                       .rate_bytes_per_second = options.rate_bytes_per_second,
                                       .spill_folder = options.spill_folder,
                                       .spill_limit_bytes = options.spill_limit_bytes,
                                       .spill_nodes = nodes}));
    state->nodes.push_back(std::move(node));
  }
  return std::unique_ptr<LocalCluster>(new LocalCluster(std::move(state)));
}

LocalCluster::LocalCluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
LocalCluster::~LocalCluster() { Stop(); }

std::size_t LocalCluster::size() const { return state_->nodes.size(); }
Node& LocalCluster::node(std::size_t index) { return *state_->nodes.at(index); }
Client LocalCluster::client(std::size_t index) { return node(index).client(); }
std::string LocalCluster::directory_address() const { return state_->directory->address(); }

void LocalCluster::Stop() {
  for (const auto& node : state_->nodes) node->Stop();
  state_->directory->Stop();
}

}  // namespace hoplite
