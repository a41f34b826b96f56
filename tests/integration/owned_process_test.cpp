// What a worker process owns, and how the process ends.
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing/cluster.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::Eventually;
using testing::kSoon;
using namespace std::chrono_literals;

const ObjectId kObject = ObjectId::FromName("of a worker");

struct Habits {
  bool closes = false;
  std::optional<std::chrono::milliseconds> grace = {};
};

// A process that puts an object which it owns, and lives until it is killed. Forked before there are
// threads; Begin lets it attach.
class Worker {
 public:
  explicit Worker(std::string socket, const Habits& habits = {}) {
    if (::pipe(go_) != 0 || ::pipe(done_) != 0) ::abort();
    child_ = ::fork();
    if (child_ == 0) Work(socket, habits);
  }
  ~Worker() {
    Kill();
    for (const int end : {go_[0], go_[1], done_[0], done_[1]}) ::close(end);
  }

  // Returns when the object is there.
  void Begin() {
    char byte = 0;
    ASSERT_EQ(::write(go_[1], "x", 1), 1);
    ASSERT_EQ(::read(done_[0], &byte, 1), 1);
    ASSERT_EQ(byte, 'y');
  }
  void Kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(std::exchange(child_, -1), nullptr, 0);
  }

 private:
  [[noreturn]] void Work(const std::string& socket, const Habits& habits) {
    char byte = 0;
    if (::read(go_[0], &byte, 1) != 1) ::_exit(1);
    auto client = Client::Connect(socket);
    const PutOptions options{.id = kObject, .owned = true, .grace = habits.grace, .timeout = 60s};
    const bool put = client && client->Put(std::string(1_MiB, 'x'), options);
    if (put && habits.closes) client->Close();
    if (::write(done_[1], put ? "y" : "n", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }

  int go_[2];
  int done_[2];
  pid_t child_ = 0;
};

std::string SocketPath() {
  static int count = 0;
  return "/tmp/hoplite-owned-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

class OwnedProcessTest : public ::testing::Test {
 protected:
  // Workers attach at its first node.
  void StartCluster(std::chrono::seconds orphan_grace) {
    testing::ClusterOptions options{.nodes = 1, .socket = socket_};
    options.directory.service.planner.orphan_grace = orphan_grace;
    cluster_.emplace(options);
    options.socket.clear();
    cluster_->Add(options);
  }
  std::uint64_t used_bytes(std::size_t node) { return cluster_->node(node).usage().used_bytes; }

  const std::string socket_ = SocketPath();
  std::optional<Cluster> cluster_;
};

TEST_F(OwnedProcessTest, WhatAKilledProcessOwnedGoesAfterTheGrace) {
  Worker worker(socket_);
  StartCluster(2s);
  worker.Begin();
  ASSERT_TRUE(cluster_->client(1).Get(kObject, kSoon));
  const auto killed = std::chrono::steady_clock::now();
  worker.Kill();
  EXPECT_TRUE(Eventually([&] { return used_bytes(0) == 0 && used_bytes(1) == 0; }, 60s));
  EXPECT_GE(std::chrono::steady_clock::now() - killed, 2s);
}

TEST_F(OwnedProcessTest, WhoOwnsItWithinTheGraceKeepsIt) {
  Worker worker(socket_);
  StartCluster(5s);
  worker.Begin();
  worker.Kill();
  Client heir = cluster_->client(1);
  ASSERT_TRUE(heir.Own(kObject, kSoon));
  const auto one = [&] {
    const auto info = heir.Info(kObject, kSoon);
    return info && info->owners == 1;
  };
  EXPECT_TRUE(Eventually(one, 60s)) << "the dead one's node disowned it";
  EXPECT_TRUE(heir.Get(kObject, kSoon));
}

TEST_F(OwnedProcessTest, WithoutAGraceItGoesWithItsProcess) {
  Worker worker(socket_, {.grace = 0ms});
  StartCluster(3600s);
  worker.Begin();
  EXPECT_EQ(cluster_->client(1).Info(kObject, kSoon)->grace, 0ms);
  worker.Kill();
  EXPECT_TRUE(Eventually([&] { return used_bytes(0) == 0 && used_bytes(1) == 0; }, 60s));
}

TEST_F(OwnedProcessTest, AClientThatIsClosedNeedsNoGrace) {
  Worker worker(socket_, {.closes = true});
  StartCluster(3600s);
  worker.Begin();
  EXPECT_TRUE(Eventually([&] { return used_bytes(0) == 0; }, 60s));
}

}  // namespace
}  // namespace hoplite
