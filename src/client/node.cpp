#include "node/node.h"

#include <chrono>
#include <cstdint>
#include <numeric>
#include <utility>

#include <hoplite/node.h>

#include "base/own_process.h"
#include "base/try.h"
#include "client/client_access.h"
#include "client/node_access.h"

namespace hoplite {
namespace {

constexpr std::chrono::seconds kAttachTimeout{5};

// The node's own mapping: no second one, and no page faults in it.
Result<std::shared_ptr<client::Connection>> Attach(node::Node& node) {
  TRY_ASSIGN(const int socket, node.AttachLocal());
  const std::shared_ptr<store::SharedSegment> segment = node.segment();
  return client::Connection::Attach(
      socket, client::SegmentMap::Of(segment->bytes(), segment->read_only_descriptor(), segment),
      client::DeadlineAfter(kAttachTimeout));
}

}  // namespace

struct Node::State {
  std::unique_ptr<node::Node> node;
  OwnProcess process;
};

Result<std::unique_ptr<Node>> Node::Start(const NodeConfig& config, std::stop_token stop) {
  TRY_ASSIGN(auto node, node::Node::Start(config, std::move(stop)));
  return std::unique_ptr<Node>(new Node(std::make_unique<State>(std::move(node))));
}

Node::Node(std::unique_ptr<State> state) : state_(std::move(state)) {}
Node::~Node() {
  if (!state_->process.here()) static_cast<void>(state_.release());  // the parent's, with threads
}

Client Node::client() {
  if (!state_->process.here()) {
    return ClientAccess::Make(client::Connection::Ended(OwnProcess::NotHere("the node")));
  }
  auto connection = Attach(*state_->node);
  if (!connection) connection = client::Connection::Ended(connection.error());
  return ClientAccess::Make(*std::move(connection));
}

std::string Node::name() const { return state_->node->name(); }
std::string Node::address() const { return state_->node->address(); }
std::string Node::socket() const { return state_->node->socket(); }
std::chrono::milliseconds Node::idle() const {
  if (!state_->process.here()) return {};
  return std::chrono::floor<std::chrono::milliseconds>(state_->node->idle());
}
std::vector<std::string> Node::away() const {
  if (!state_->process.here()) return {};
  return state_->node->away();
}
std::optional<Error> Node::refusal() const {
  if (!state_->process.here()) return OwnProcess::NotHere("the node");
  return state_->node->refusal();
}
std::vector<NodeMetric> Node::Metrics() const {
  std::vector<NodeMetric> given;
  for (const Metric& metric : NodeAccess::MetricsOf(*this)) {
    const bool counter = metric.kind == MetricKind::kCounter;
    for (const MetricSample& sample : metric.samples) {
      given.push_back({metric.name, metric.label, sample.label, sample.value, counter});
    }
    if (metric.kind != MetricKind::kHistogram) continue;
    const auto& buckets = metric.latency.buckets;
    const auto count = std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
    given.push_back({metric.name + "_count", {}, {}, static_cast<double>(count), true});
    given.push_back({metric.name + "_sum", {}, {}, metric.latency.sum_seconds, true});
  }
  return given;
}
hoplite::Metrics NodeAccess::MetricsOf(const Node& node) {
  return node.state_->process.here() ? node.state_->node->metrics() : hoplite::Metrics();
}
void Node::Stop() {
  if (state_->process.here()) state_->node->Stop();
}

}  // namespace hoplite
