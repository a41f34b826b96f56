#include "cli/member_traces.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/ids.h"
#include "base/try.h"
#include "cli/node_question.h"
#include "directory/cluster_id.h"
#include "directory/shard_port.h"
#include "directory/tcp_port.h"
#include "directory/trace_question.h"
#include "net/deadline.h"
#include "net/handshake.h"
#include "net/tcp_transport.h"

namespace hoplite::cli {
namespace {

using Decisions = Result<std::vector<wire::TraceEntry>>;

// One conversation over the data plane.
net::Task<Decisions> AskNode(std::shared_ptr<net::Transport> transport, net::Identity self,
                             protocol::NodeInfo node, Duration timeout) {
  CO_TRY_ASSIGN(const net::ConnectionPtr connection,
                co_await ConnectTo(transport, self, node, timeout));
  const net::StreamPtr stream = connection->stream;
  // From here on: the greeting says by itself that it took too long.
  const net::Deadline patience(stream->loop(), Now() + timeout, [stream] { stream->Close(); });
  wire::Frame question{wire::TraceAsk{}};
  CO_TRY(co_await connection->Send(std::move(question)));
  CO_TRY_ASSIGN(const wire::Frame frame, co_await connection->reader.Next());
  const auto* trace = std::get_if<wire::Trace>(&frame);
  if (trace == nullptr) {
    co_return std::unexpected(Error(ErrorCode::kProtocol, "it answers something else"));
  }
  std::vector<std::byte> told(trace->payload_bytes);
  CO_TRY(co_await connection->reader.ReceivePayload(told));
  stream->Close();
  co_return wire::DecodeTrace(told);
}

class Asker {
 public:
  Asker(const std::string& cluster, std::size_t shards, net::SecurityPtr security, Duration timeout)
      : self_{directory::ClusterId(cluster, shards), RandomNodeId()},
        security_(std::move(security)),
        timeout_(timeout) {}

  std::vector<MemberTrace> Ask(const std::vector<std::string>& shards) {
    for (const std::string& address : shards) AskShard(address);
    questions_.Run(timeout_);
    for (const protocol::NodeInfo& node : ByName()) Ask(node);
    questions_.Run(timeout_);
    for (const auto& port : ports_) port->Stop();
    return std::move(traces_);
  }

 private:
  void AskShard(const std::string& address) {
    const std::size_t place = Add(fmt::format("shard {}", traces_.size()));
    ports_.push_back(directory::MakeTcpPort(questions_.loop(), address, security_));
    questions_.Await(2);
    ports_.back()->Status({.after = {}, .limit = 1}, timeout_,
                          [this](const Result<protocol::StatusPage>& page) {
                            for (std::size_t i = 0; page && i < page->nodes.size(); ++i) {
                              nodes_[page->nodes[i].node.id] = page->nodes[i].node;
                            }
                            questions_.Ended();
                          });
    of_shards_.push_back(std::make_unique<directory::TraceQuestion>(
        questions_.loop(), address, security_, timeout_,
        [this, place](Decisions said) { Told(place, std::move(said)); }));
  }

  std::vector<protocol::NodeInfo> ByName() const {
    std::vector<protocol::NodeInfo> nodes;
    for (const auto& [id, node] : nodes_) nodes.push_back(node);
    std::ranges::sort(nodes, {}, &protocol::NodeInfo::name);
    return nodes;
  }

  void Ask(const protocol::NodeInfo& node) {
    const std::size_t place = Add(node.name);
    questions_.Await(1);
    asio::co_spawn(
        questions_.loop(), AskNode(transport_, self_, node, timeout_),
        [this, place](const std::exception_ptr&, Decisions said) { Told(place, std::move(said)); });
  }

  std::size_t Add(std::string name) {
    traces_.push_back({std::move(name), std::unexpected(NoAnswer())});
    return traces_.size() - 1;
  }
  void Told(std::size_t place, Decisions said) {
    traces_[place].decisions = std::move(said);
    questions_.Ended();
  }

  const net::Identity self_;
  const net::SecurityPtr security_;
  const Duration timeout_;
  Questions questions_;
  const std::shared_ptr<net::Transport> transport_ = std::make_shared<net::TcpTransport>(
      std::vector<asio::io_context*>{&questions_.loop()}, net::TcpOptions{.security = security_});
  std::vector<std::unique_ptr<directory::ShardPort>> ports_;
  std::vector<std::unique_ptr<directory::TraceQuestion>> of_shards_;
  std::map<NodeId, protocol::NodeInfo> nodes_;
  std::vector<MemberTrace> traces_;
};

}  // namespace

std::vector<MemberTrace> AskForTraces(const std::vector<std::string>& shards,
                                      const std::string& cluster, const net::SecurityPtr& security,
                                      Duration timeout) {
  return Asker(cluster, shards.size(), security, timeout).Ask(shards);
}

}  // namespace hoplite::cli
