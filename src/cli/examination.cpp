#include "cli/examination.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include "base/clock.h"
#include "base/try.h"
#include "cli/node_question.h"
#include "directory/cluster_id.h"
#include "directory/shard_port.h"
#include "directory/tcp_port.h"
#include "net/deadline.h"
#include "net/handshake.h"
#include "net/tcp_transport.h"

namespace hoplite::cli {
namespace {

net::Task<Result<wire::CheckUp>> Ask(net::ConnectionPtr connection, wire::CheckAsk ask,
                                     Duration timeout) {
  const net::Deadline patience(connection->stream->loop(), Now() + timeout,
                               [connection] { connection->stream->Close(); });
  CO_TRY(co_await connection->Send(wire::Frame(std::move(ask))));
  CO_TRY_ASSIGN(const wire::Frame frame, co_await connection->reader.Next());
  const auto* check = std::get_if<wire::Check>(&frame);
  if (check == nullptr) {
    co_return std::unexpected(Error(ErrorCode::kProtocol, "it answers something else"));
  }
  std::vector<std::byte> told(check->payload_bytes);
  CO_TRY(co_await connection->reader.ReceivePayload(told));
  co_return wire::DecodeCheckUp(told);
}

Duration Since1970() {
  return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch());
}

// The time of day there was told about the middle of the question's way and the answer's.
void Compare(const wire::CheckUp& told, Duration asked, Duration answered, ExaminedNode& node) {
  const Duration there = std::chrono::microseconds(told.since_epoch_us);
  node.answered_in = answered - asked;
  node.clock_ahead = there - (asked + answered) / 2;
}

class Examiner {
 public:
  Examiner(const std::string& cluster, std::size_t shards, net::SecurityPtr security,
           Duration timeout)
      : self_{directory::ClusterId(cluster, shards), RandomNodeId()},
        security_(std::move(security)),
        timeout_(timeout) {}

  Examination Examine(const std::vector<std::string>& shards) {
    found_.shards.reserve(shards.size());
    for (const std::string& address : shards) AskShard(address);
    questions_.Run(timeout_);
    ListNodes();
    for (ExaminedNode& node : found_.nodes) {
      questions_.Await(1);
      asio::co_spawn(questions_.loop(), AskNode(node),
                     [this](const std::exception_ptr&) { questions_.Ended(); });
    }
    questions_.Run(timeout_ * static_cast<int>(1 + found_.nodes.size()));
    for (const auto& port : ports_) port->Stop();
    return std::move(found_);
  }

 private:
  void AskShard(const std::string& address) {
    ExaminedShard& shard = found_.shards.emplace_back(address, std::unexpected(NoAnswer()));
    ports_.push_back(directory::MakeTcpPort(questions_.loop(), address, security_));
    questions_.Await(1);
    ports_.back()->Status({.after = {}, .limit = 1}, timeout_,
                          [this, &shard](Result<protocol::StatusPage> page) {
                            shard.picture = std::move(page);
                            questions_.Ended();
                          });
  }

  void ListNodes() {
    std::map<std::string, ExaminedNode> nodes;
    for (const ExaminedShard& shard : found_.shards) {
      if (!shard.picture) continue;
      for (const protocol::NodeView& view : shard.picture->nodes) {
        const auto [known, added] =
            nodes.try_emplace(view.node.name, ExaminedNode{view, {}, std::unexpected(NoAnswer())});
        protocol::NodeView& so_far = known->second.view;
        so_far.alive = so_far.alive && view.alive;
        so_far.bytes_per_second = std::max(so_far.bytes_per_second, view.bytes_per_second);
      }
    }
    for (auto& [name, node] : nodes) {
      for (std::size_t shard = 0; shard < found_.shards.size(); ++shard) {
        const auto& picture = found_.shards[shard].picture;
        const auto is_it = [&](const protocol::NodeView& view) { return view.node.name == name; };
        if (picture && std::ranges::none_of(picture->nodes, is_it)) {
          node.strange_to.push_back(shard);
        }
      }
      found_.nodes.push_back(std::move(node));
    }
  }

  // Of its host first, then of each other node, one after the other over one connection.
  net::Task<void> AskNode(ExaminedNode& node) {
    auto connected = co_await ConnectTo(transport_, self_, node.view.node, timeout_);
    if (!connected) {
      node.told = std::unexpected(connected.error());
      co_return;
    }
    const net::ConnectionPtr connection = *connected;
    node.certificate = connection->stream->peer_expires_in();
    const wire::CheckAsk of_its_host;
    const Duration asked = Since1970();
    node.told = co_await Ask(connection, of_its_host, timeout_);
    if (node.told) Compare(*node.told, asked, Since1970(), node);
    for (const ExaminedNode& other : found_.nodes) {
      if (!node.told || &other == &node) continue;
      if (!co_await AskWhetherItReaches(connection, node, other.view.node)) break;
    }
    connection->stream->Close();
  }

  // False: the node answers no more.
  net::Task<bool> AskWhetherItReaches(net::ConnectionPtr connection, ExaminedNode& node,
                                      protocol::NodeInfo other) {
    wire::CheckAsk of_a_way{other.id, other.address};
    const auto told = co_await Ask(std::move(connection), std::move(of_a_way), timeout_);
    Result<Duration> reached = std::unexpected(NoAnswer());
    if (!told) {
      reached = std::unexpected(told.error());
    } else if (told->unreached.empty()) {
      reached = std::chrono::microseconds(told->reached_us);
    } else {
      reached = std::unexpected(Error(ErrorCode::kUnavailable, told->unreached));
    }
    node.reaches.emplace(other.name, std::move(reached));
    co_return told.has_value();
  }

  const net::Identity self_;
  const net::SecurityPtr security_;
  const Duration timeout_;
  Questions questions_;
  const std::shared_ptr<net::Transport> transport_ = std::make_shared<net::TcpTransport>(
      std::vector<asio::io_context*>{&questions_.loop()}, net::TcpOptions{.security = security_});
  std::vector<std::unique_ptr<directory::ShardPort>> ports_;
  Examination found_;
};

}  // namespace

Examination Examine(const std::vector<std::string>& shards, const std::string& cluster,
                    const net::SecurityPtr& security, Duration timeout) {
  return Examiner(cluster, shards.size(), security, timeout).Examine(shards);
}

}  // namespace hoplite::cli
