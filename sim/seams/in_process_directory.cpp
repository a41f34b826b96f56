#include "sim/seams/in_process_directory.h"

#include <set>
#include <utility>

#include <asio/post.hpp>

#include "base/mutex.h"
#include "directory/sharded_client.h"

namespace hoplite::directory {

namespace {

// Posts to a node's loop until the node stopped its client: its loop may be gone afterwards.
class LoopGate {
 public:
  explicit LoopGate(asio::io_context& loop) : loop_(loop) {}

  template <typename Step>
  void Post(Step step) {
    const MutexLock lock(mutex_);
    if (open_) asio::post(loop_, std::move(step));
  }
  void Close() {
    const MutexLock lock(mutex_);
    open_ = false;
  }

 private:
  asio::io_context& loop_;
  Mutex mutex_;
  bool open_ HOPLITE_GUARDED_BY(mutex_) = true;
};

using GatePtr = std::shared_ptr<LoopGate>;
using Receiver = std::function<void(wire::ShardMessage)>;

// Lives on the directory's loop.
class InProcessSession final : public Session {
 public:
  InProcessSession(NodeId node, GatePtr gate, Receiver receive)
      : node_(node), gate_(std::move(gate)), receive_(std::move(receive)) {}

  void Send(wire::ShardMessage message) override {
    if (ended_) return;
    gate_->Post([receive = receive_, message = std::move(message)]() mutable {
      receive(std::move(message));
    });
  }
  void Processed() override {}
  void End(wire::Ended why) override {
    Send({.ended = std::move(why)});
    ended_ = true;
  }
  void Abort() override { End({.error = {ErrorCode::kUnavailable, "the session was cut off"}}); }

  NodeId node() const { return node_; }
  bool ended() const { return ended_; }

 private:
  const NodeId node_;
  const GatePtr gate_;
  const Receiver receive_;
  bool ended_ = false;
};

}  // namespace

// One shard; on the directory's loop, except for what is constant.
struct InProcessShard {
  InProcessShard(asio::io_context& loop_in, const ServiceOptions& options_in, std::size_t count_in)
      : loop(loop_in), options(options_in), shards(count_in, "in-process") {
    Start();
  }

  void Start() {
    service = std::make_shared<DirectoryService>(
        loop, options, Admission({.shards = shards, .state = {.id = RandomId()}}));
  }

  void Say(const std::shared_ptr<InProcessSession>& session, wire::NodeMessage message) {
    if (message.hello) {
      if (cut.contains(session->node())) return session->Abort();
      std::erase_if(sessions, [](const auto& one) { return one->ended(); });
      sessions.push_back(session);
    }
    if (!session->ended()) service->Receive(session, std::move(message));
  }

  void Cut(NodeId node) {
    cut.insert(node);
    for (const auto& session : sessions) {
      if (session->node() != node || session->ended()) continue;
      session->Abort();
      service->Closed(session);
    }
  }

  void Restart() {
    service->Shutdown(Error(ErrorCode::kUnavailable, "the directory shard restarts"));
    ++options.planner.incarnation;
    Start();
  }

  asio::io_context& loop;
  ServiceOptions options;
  const std::vector<std::string> shards;  // no addresses here; only how many counts
  std::shared_ptr<DirectoryService> service;
  std::set<NodeId> cut;
  std::vector<std::shared_ptr<InProcessSession>> sessions;
};

namespace {

using ShardPtr = std::shared_ptr<InProcessShard>;

class InProcessConnection final : public Connection {
 public:
  InProcessConnection(ShardPtr shard, std::shared_ptr<InProcessSession> session)
      : shard_(std::move(shard)), session_(std::move(session)) {}

  void Send(wire::NodeMessage message) override {
    asio::post(shard_->loop,
               [shard = shard_, session = session_, message = std::move(message)]() mutable {
                 shard->Say(session, std::move(message));
               });
  }
  void Close() override {
    asio::post(shard_->loop, [shard = shard_, session = session_] {
      session->Abort();
      shard->service->Closed(session);
    });
  }

 private:
  const ShardPtr shard_;
  const std::shared_ptr<InProcessSession> session_;
};

class InProcessPort final : public ShardPort {
 public:
  InProcessPort(ShardPtr shard, asio::io_context& loop)
      : shard_(std::move(shard)), gate_(std::make_shared<LoopGate>(loop)) {}

  std::unique_ptr<Connection> Open(const std::string& /*member*/, wire::Hello hello,
                                   Receiver receive) override {
    auto session = std::make_shared<InProcessSession>(hello.node.id, gate_, std::move(receive));
    auto connection = std::make_unique<InProcessConnection>(shard_, session);
    connection->Send({.hello = std::move(hello)});
    return connection;
  }

  void Find(const ObjectId& object, Duration,
            std::function<void(Result<protocol::ObjectView>)> done) override {
    asio::post(shard_->loop, [shard = shard_, object, answer = OnNodeLoop(std::move(done))] {
      shard->service->Find(object, answer);
    });
  }

  void Status(const protocol::PageRequest& page, Duration,
              std::function<void(Result<protocol::StatusPage>)> done) override {
    asio::post(shard_->loop, [shard = shard_, page, answer = OnNodeLoop(std::move(done))] {
      shard->service->Status(page, answer);
    });
  }

  void Stop() override { gate_->Close(); }

 private:
  template <typename T>
  std::function<void(Result<T>)> OnNodeLoop(std::function<void(Result<T>)> done) {
    return [gate = gate_, done = std::move(done)](Result<T> result) {
      gate->Post([done, result = std::move(result)] { done(result); });
    };
  }

  const ShardPtr shard_;
  const GatePtr gate_;
};

}  // namespace

InProcessDirectory::Options InProcessDirectory::Patient() {
  Options options;
  options.service.lease = std::chrono::hours(1);
  options.service.grace = std::chrono::hours(1);
  options.service.planner.recovery_window = Duration(0);
  return options;
}

InProcessDirectory::InProcessDirectory(asio::io_context& loop, const Options& options) {
  for (std::size_t shard = 0; shard < options.shards; ++shard) {
    ServiceOptions service = options.service;
    if (shard < options.inline_limits.size()) {
      service.planner.inline_limit_bytes = options.inline_limits[shard];
    }
    shards_.push_back(std::make_shared<InProcessShard>(loop, service, options.shards));
  }
}

InProcessDirectory::~InProcessDirectory() = default;

std::unique_ptr<DirectoryClient> InProcessDirectory::MakeClient(asio::io_context& loop) {
  std::vector<std::unique_ptr<ShardPort>> ports;
  ports.reserve(shards_.size());
  for (const auto& shard : shards_) ports.push_back(std::make_unique<InProcessPort>(shard, loop));
  return std::make_unique<ShardedClient>(loop, std::move(ports), ShardedClient::Options());
}

void InProcessDirectory::Cut(NodeId node) {
  for (const auto& shard : shards_) {
    asio::post(shard->loop, [shard, node] { shard->Cut(node); });
  }
}

void InProcessDirectory::Lose(NodeId node) {
  for (const auto& shard : shards_) {
    asio::post(shard->loop, [shard, node] {
      shard->Cut(node);
      shard->service->Expire(node);
    });
  }
}

void InProcessDirectory::Reconnect(NodeId node) {
  for (const auto& shard : shards_) {
    asio::post(shard->loop, [shard, node] { shard->cut.erase(node); });
  }
}

void InProcessDirectory::Restart(std::size_t shard) {
  asio::post(shards_.at(shard)->loop, [one = shards_.at(shard)] { one->Restart(); });
}

}  // namespace hoplite::directory
