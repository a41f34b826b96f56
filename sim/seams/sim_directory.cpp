#include "sim/seams/sim_directory.h"

#include <optional>
#include <utility>

#include <asio/post.hpp>

#include "base/clock.h"
#include "directory/sharded_client.h"

namespace hoplite::directory {

namespace {

// The size of a message besides its words.
constexpr std::size_t kMessageBytes = 60;

template <typename Word>
std::size_t BytesOf(const std::vector<Word>& words) {
  std::size_t bytes = kMessageBytes;
  for (const Word& word : words) bytes += WordBytes(word);
  return bytes;
}

using Receiver = std::function<void(wire::ShardMessage)>;

// By which a node of another cluster knows a shard until it was told better.
constexpr std::uint64_t kElsewhere = 0x0e15e;

Error Unreachable() { return {ErrorCode::kUnavailable, "the shard can't be reached"}; }

}  // namespace

struct SimShard {
  SimShard(asio::io_context& loop_in, net::SimNetwork& network_in,
           const SimDirectory::Settings& settings)
      : loop(loop_in),
        network(network_in),
        host(network_in.AddHost()),
        options(settings.service),
        shards(settings.shards, "simulated"),
        state_files(settings.state_files),
        first_decides(settings.first_decides),
        forgets_state(settings.forgets_state) {
    Start();
  }
  void Start() {
    ++lives;
    const bool certain = kept && !forgets_state;
    const ShardState state =
        NextLife(certain ? kept : std::nullopt, std::uint64_t{host + 1} * 1000 + lives, Clock());
    options.planner.incarnation = state.incarnation;
    const auto keep = [this](const ShardState& next) {
      if (state_files) kept = next;
      return Result<void>();
    };
    static_cast<void>(keep(state));
    service = std::make_shared<DirectoryService>(
        loop, options,
        Admission({.shards = shards, .state = state, .certain = certain, .keep = keep}));
    told_id.reset();
  }
  std::uint64_t Clock() const { return state_files ? 1 : lives; }
  // Whoever comes later with objects, and knows it by another id.
  bool TurnsAway(const wire::Hello& hello) const {
    const bool knows_another = hello.shard_id != 0 && told_id && hello.shard_id != *told_id;
    return first_decides && hello.holds && knows_another;
  }

  asio::io_context& loop;
  net::SimNetwork& network;
  const net::HostId host;
  ServiceOptions options;
  const std::vector<std::string> shards;  // no addresses here; only how many counts
  const bool state_files;
  const bool first_decides;
  const bool forgets_state;
  std::optional<ShardState> kept;  // in the state file
  std::uint64_t lives = 0;
  std::optional<std::uint64_t> told_id;       // in the first Welcome of this life
  std::shared_ptr<DirectoryService> service;  // null while it is dead
  std::vector<std::weak_ptr<SimSession>> sessions;
  std::function<void(const wire::NodeMessage&)> said;
  std::function<void(const wire::ShardMessage&)> answered;
  std::function<void(Time)> ended;
  std::function<void(NodeId, const Error&)> refused;
};

// Both ends of one attempt at a session.
class SimSession final : public Session, public std::enable_shared_from_this<SimSession> {
 public:
  SimSession(std::shared_ptr<SimShard> shard, net::HostId host, asio::io_context& loop,
             Receiver receive)
      : shard_(std::move(shard)),
        loop_(loop),
        there_(std::make_shared<net::Wire>(shard_->network, host, shard_->host)),
        back_(std::make_shared<net::Wire>(shard_->network, shard_->host, host)),
        receive_(std::move(receive)) {}

  // The node's side.
  void Say(wire::NodeMessage message) {
    if (shard_->said) shard_->said(message);
    if (message.hello) node_ = message.hello->node.id;
    if (message.hello) holds_ = message.hello->holds;
    const std::size_t bytes = BytesOf(message.events);
    const auto arrive = [self = shared_from_this(), message = std::move(message)] {
      if (!self->shard_->service || self->ended_) return;
      if (message.hello && self->shard_->TurnsAway(*message.hello)) {
        return self->End({.error = {ErrorCode::kInvalidArgument, "another node came first"}});
      }
      self->shard_->service->Receive(self, message);
    };
    there_->Send(bytes, arrive, shard_->network.Lateness());
  }
  void Hang() {
    OnEnd();
    receive_ = nullptr;
    back_->Cut();
    there_->Send(1, [self = shared_from_this()] { self->Gone(); });
  }
  void Die(net::Death death) {
    opened_.reset();
    receive_ = nullptr;
    back_->Cut();
    if (death == net::Death::kKilled) {
      there_->Send(1, [self = shared_from_this()] { self->Gone(); });
    }
    there_->Seal();
  }

  // The shard's side.
  void Send(wire::ShardMessage message) override {
    if (ended_) return;
    if (message.welcome) {
      opened_ = Now();
      if (!shard_->told_id) shard_->told_id = message.welcome->shard_id;
    }
    Tell(std::move(message));
  }
  void Processed() override {}
  void End(wire::Ended why) override {
    if (std::exchange(ended_, true)) return;
    OnEnd();
    const bool refused = holds_ && why.error.code == ErrorCode::kInvalidArgument;
    if (refused && shard_->refused) shard_->refused(node_, why.error);
    Tell({.ended = std::move(why)});
  }
  void Abort() override { End({.error = {ErrorCode::kUnavailable, "the session was cut off"}}); }

  // The network's.
  void Break() {
    opened_.reset();
    Abort();
    Gone();
  }

 private:
  void Gone() {
    ended_ = true;
    if (shard_->service) shard_->service->Closed(shared_from_this());
  }
  void OnEnd() {
    if (opened_ && shard_->ended) shard_->ended(*opened_);
    opened_.reset();
  }
  void Tell(wire::ShardMessage message) {
    if (shard_->answered) shard_->answered(message);
    const std::size_t bytes = BytesOf(message.actions);
    back_->Send(bytes, [self = shared_from_this(), message = std::move(message)] {
      asio::post(self->loop_, [self, message] {
        if (self->receive_) self->receive_(message);
      });
    });
  }

  const std::shared_ptr<SimShard> shard_;
  asio::io_context& loop_;
  const std::shared_ptr<net::Wire> there_;
  const std::shared_ptr<net::Wire> back_;
  Receiver receive_;
  NodeId node_ = kNoNode;
  bool holds_ = false;          // the node came with objects of this shard
  std::optional<Time> opened_;  // when the session opened: it should last from then on
  bool ended_ = false;
};

class SimConnection final : public Connection {
 public:
  explicit SimConnection(std::shared_ptr<SimSession> session) : session_(std::move(session)) {}
  void Send(wire::NodeMessage message) override { session_->Say(std::move(message)); }
  void Close() override { session_->Hang(); }

 private:
  const std::shared_ptr<SimSession> session_;
};

class SimPort final : public ShardPort {
 public:
  SimPort(std::shared_ptr<SimShard> shard, net::HostId host, asio::io_context& loop,
          std::shared_ptr<SimDirectory::Access> access)
      : shard_(std::move(shard)),
        host_(host),
        loop_(loop),
        access_(std::move(access)),
        there_(std::make_shared<net::Wire>(shard_->network, host, shard_->host)),
        back_(std::make_shared<net::Wire>(shard_->network, shard_->host, host)) {}

  std::unique_ptr<Connection> Open(const std::string& /*member*/, wire::Hello hello,
                                   Receiver receive) override {
    auto session = std::make_shared<SimSession>(shard_, host_, loop_, std::move(receive));
    auto connection = std::make_unique<SimConnection>(session);
    for (auto* sessions : {&access_->sessions_, &shard_->sessions}) {
      std::erase_if(*sessions, [](const auto& one) { return one.expired(); });
      sessions->push_back(session);
    }
    if (access_->dead_) session->Die(net::Death::kPowerOff);
    if (!shard_->service) session->Abort();
    if (access_->foreign_ && hello.shard_id == 0) hello.shard_id = kElsewhere;
    connection->Send({.hello = std::move(hello)});
    return connection;
  }
  void Find(const ObjectId& object, Duration,
            std::function<void(Result<protocol::ObjectView>)> done) override {
    Ask([object, answer = BackHere(std::move(done))](DirectoryService& service) {
      service.Find(object, answer);
    });
  }
  void Status(const protocol::PageRequest& page, Duration,
              std::function<void(Result<protocol::StatusPage>)> done) override {
    Ask([page, answer = BackHere(std::move(done))](DirectoryService& service) {
      service.Status(page, answer);
    });
  }
  void Stop() override { back_->Cut(); }

 private:
  // A dead shard says nothing: the asker's timeout ends the question.
  void Ask(std::function<void(DirectoryService&)> question) {
    there_->Send(kMessageBytes, [shard = shard_, question = std::move(question)] {
      if (shard->service) question(*shard->service);
    });
  }
  template <typename T>
  std::function<void(Result<T>)> BackHere(std::function<void(Result<T>)> done) {
    return [back = back_, &loop = loop_, done = std::move(done)](Result<T> result) {
      back->Send(kMessageBytes, [&loop, done, result = std::move(result)] {
        asio::post(loop, [done, result] { done(result); });
      });
    };
  }

  const std::shared_ptr<SimShard> shard_;
  const net::HostId host_;
  asio::io_context& loop_;
  const std::shared_ptr<SimDirectory::Access> access_;
  // For questions, which belong to no session.
  const std::shared_ptr<net::Wire> there_;
  const std::shared_ptr<net::Wire> back_;
};

SimDirectory::SimDirectory(asio::io_context& loop, net::SimNetwork& network,
                           const Settings& settings)
    : pace_(settings.pace) {
  for (std::size_t i = 0; i < settings.shards; ++i) {
    shards_.push_back(std::make_shared<SimShard>(loop, network, settings));
  }
}

SimDirectory::~SimDirectory() {
  for (const auto& shard : shards_) {
    if (shard->service) shard->service->Shutdown(Unreachable());
  }
}

std::unique_ptr<DirectoryClient> SimDirectory::MakeClient(asio::io_context& loop, net::HostId host,
                                                          std::shared_ptr<Access> access) {
  std::vector<std::unique_ptr<ShardPort>> ports;
  for (const auto& shard : shards_) {
    ports.push_back(std::make_unique<SimPort>(shard, host, loop, access));
  }
  ShardedClient::Options options;
  options.pace = pace_;
  return std::make_unique<ShardedClient>(loop, std::move(ports), std::move(options));
}

void SimDirectory::OnSaid(std::function<void(const wire::NodeMessage&)> heard) {
  for (const auto& shard : shards_) shard->said = heard;
}

void SimDirectory::OnAnswered(const std::function<void(const wire::ShardMessage&)>& heard) {
  for (const auto& shard : shards_) shard->answered = heard;
}

void SimDirectory::OnEnded(const std::function<void(Time)>& ended) {
  for (const auto& shard : shards_) shard->ended = ended;
}

void SimDirectory::OnRefused(const std::function<void(NodeId, const Error&)>& refused) {
  for (const auto& shard : shards_) shard->refused = refused;
}

net::HostId SimDirectory::host(std::size_t shard) const { return shards_[shard]->host; }
bool SimDirectory::up(std::size_t shard) const { return shards_[shard]->service != nullptr; }
std::uint64_t SimDirectory::lives(std::size_t shard) const { return shards_[shard]->lives; }
const planner::DirectoryState& SimDirectory::state(std::size_t shard) const {
  return shards_[shard]->service->state();
}

void SimDirectory::Kill(std::size_t shard) {
  SimShard& killed = *shards_[shard];
  if (!killed.service) return;
  const auto service = std::exchange(killed.service, nullptr);
  for (const auto& weak : std::exchange(killed.sessions, {})) {
    if (const auto session = weak.lock()) session->Break();
  }
  service->Shutdown(Unreachable());
}

void SimDirectory::Return(std::size_t shard) {
  SimShard& back = *shards_[shard];
  if (back.service) return;
  // In its first life no node had anything to tell; now nodes may.
  back.options.planner.recovery_window = planner::DirectoryOptions().recovery_window;
  back.Start();
}

void SimDirectory::BreakSession(Access& access, std::uint64_t which) {
  std::vector<std::shared_ptr<SimSession>> open;
  for (const auto& weak : access.sessions_) {
    if (auto session = weak.lock()) open.push_back(std::move(session));
  }
  if (!open.empty()) open[which % open.size()]->Break();
}

void SimDirectory::Access::Die(net::Death death) {
  dead_ = true;
  for (const auto& weak : sessions_) {
    if (const auto session = weak.lock()) session->Die(death);
  }
}

}  // namespace hoplite::directory
