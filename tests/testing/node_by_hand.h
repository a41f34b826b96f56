// NodeByHand: a whole node, but for the way its clients come in, on the test's own thread and in
// virtual time. The test is its directory, plays its peers and turns its loops: nothing happens by
// itself, so a test can stand between any two steps.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/units.h"
#include "base/virtual_time.h"
#include "directory/directory_client.h"
#include "net/signal.h"
#include "node/assembly.h"
#include "sim/seams/sim_transport.h"

namespace hoplite::testing {

// One shard, which the test plays: it keeps what the node says, and what it is to hear.
class DirectoryByHand final : public directory::DirectoryClient {
 public:
  void Start(protocol::NodeInfo /*self*/, Hooks hooks_in) override { hooks = std::move(hooks_in); }
  void Send(protocol::NodeEvent event) override {
    if (open) said.push_back(std::move(event));
  }
  std::size_t shard_count() const override { return 1; }
  std::optional<std::uint64_t> life(std::size_t /*shard*/) const override {
    return open ? std::optional(incarnation) : std::nullopt;
  }
  std::optional<Time> vouched(std::size_t /*shard*/) const override {
    return open ? std::optional(vouched_at.value_or(NowSinceBoot())) : std::nullopt;
  }
  std::uint64_t shard_id(std::size_t /*shard*/) const override { return 1; }
  std::uint64_t inline_limit(std::size_t /*shard*/) const override { return limit; }
  std::optional<Error> why_away(std::size_t /*shard*/) const override { return std::nullopt; }
  Duration away_for(std::size_t /*shard*/) const override { return Duration{0}; }
  void Find(const ObjectId& /*object*/, Duration /*timeout*/,
            std::function<void(Result<protocol::ObjectView>)> answer) override {
    if (view) return answer(*view);
    questions.push_back(std::move(answer));
  }
  void Status(std::size_t /*shard*/, const protocol::PageRequest& /*page*/, Duration /*timeout*/,
              std::function<void(Result<protocol::StatusPage>)> answer) override {
    status = std::move(answer);
  }
  void Stop() override {}

  Hooks hooks;
  bool open = true;  // else what the node says is lost
  std::uint64_t incarnation = 1;
  std::uint64_t limit = kMaxInlineBytes;  // it keeps no larger objects
  std::optional<Time> vouched_at;         // none: always now
  std::vector<protocol::NodeEvent> said;
  // What it knows of every object. None: questions wait for the test.
  std::optional<Result<protocol::ObjectView>> view =
      std::unexpected(Error(ErrorCode::kNotFound, "the test knows no object"));
  std::vector<std::function<void(Result<protocol::ObjectView>)>> questions;
  std::function<void(Result<protocol::StatusPage>)> status;
};

// Streams within the process; but a connect to kNowhere hangs until the test lets it fail.
class TransportByHand final : public net::Transport {
 public:
  static constexpr const char* kNowhere = "nowhere:1";

  explicit TransportByHand(asio::io_context& loop) : pipes_(loop), fails_(loop) {}

  Result<std::unique_ptr<net::Listener>> Listen(
      const std::string& address, std::function<void(net::StreamPtr)> on_accept) override {
    return pipes_.Listen(address, std::move(on_accept));
  }
  net::Task<Result<net::StreamPtr>> Connect(std::string address, Duration timeout) override {
    if (address == kNowhere) co_await fails_.Wait();
    co_return co_await pipes_.Connect(std::move(address), timeout);
  }
  void FailConnect() { fails_.Notify(); }

 private:
  net::SimTransport pipes_;
  net::Signal fails_;
};

class NodeByHand {
 public:
  // What the shard's welcome says of owned objects.
  static constexpr directory::DirectoryClient::OwnerTerms kTerms{
      .lease = std::chrono::seconds(1),
      .orphan_grace = std::chrono::seconds(30),
      .tombstone = std::chrono::seconds(60)};

  explicit NodeByHand(std::uint64_t memory_bytes = 4_MiB, std::uint32_t max_owned = 1000);
  // Whatever it does ends, or the test fails.
  ~NodeByHand();
  NodeByHand(const NodeByHand&) = delete;
  NodeByHand& operator=(const NodeByHand&) = delete;

  // Runs until there is nothing to do but to wait.
  void Turn();
  // Lets time pass, step by step.
  void Pass(Duration time);

  // The session ends, or another one opens; what the node says of itself is in Inventory.
  void EndSession();
  void OpenSession();
  // A shard says this.
  void Hear(const protocol::NodeAction& word);
  // What it has said since the last look, but for reports; in words, with an object's name where
  // the test has given it one.
  std::vector<std::string> Says();
  // The same of what a new session is told.
  std::vector<std::string> Inventory();
  // The object of that name.
  ObjectId Named(const std::string& name);

  // A call of a client; what it was answered, once it is.
  template <typename T>
  using Answer = std::shared_ptr<std::optional<T>>;
  template <typename T>
  Answer<T> Ask(net::Task<T> call) {
    const auto answer = std::make_shared<std::optional<T>>();
    asio::co_spawn(parts_->runtime.main(), std::move(call),
                   [answer](std::exception_ptr, T value) { answer->emplace(std::move(value)); });
    Turn();
    return answer;
  }
  node::CallPtr NewCall(Time deadline = kNever);
  // A new client, and a call of it.
  std::shared_ptr<node::Owner> NewClient() { return std::make_shared<node::Owner>(++clients_); }
  node::CallPtr NewCallOf(const node::OwnerPtr& client, Time deadline = kNever);

  // A peer that has all bytes of an object, so few that they need no more credit, and serves once:
  // what is asked for, then END, or, if it is to say none, the end of the stream.
  const protocol::NodeInfo& AddPeer(std::uint64_t number, std::string bytes, Layout layout,
                                    bool says_end = true);

  // A complete copy of these bytes, as if it had been here for long.
  store::CopyPtr Keep(const ObjectId& object, const std::string& bytes, Version version,
                      store::CopyKind kind);

  node::Assembly& parts() { return *parts_; }
  node::ClientCalls& calls() { return parts_->calls; }
  DirectoryByHand& directory() { return *directory_; }
  TransportByHand& transport() { return *transport_; }
  Time now() const { return time_.Now(); }

 private:
  class Peer;

  std::vector<std::string> InWords(const std::vector<protocol::NodeEvent>& events) const;

  VirtualTime time_;
  std::uint64_t clients_ = 0;
  std::map<ObjectId, std::string> names_;
  DirectoryByHand* directory_ = nullptr;  // these two are the node's
  TransportByHand* transport_ = nullptr;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unique_ptr<node::Assembly> parts_;
};

// A test of one; most speak of one object.
class NodeByHandTest : public ::testing::Test {
 protected:
  NodeByHand node_;
  const ObjectId x_ = node_.Named("x");
};

}  // namespace hoplite::testing
