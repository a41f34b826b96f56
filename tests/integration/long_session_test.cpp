// Sessions with much to say: each is opened once and lasts, and what waits takes little memory.
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/units.h"
#include "directory/directory_server.h"
#include "node/node.h"
#include "testing/cluster.h"

namespace hoplite {
namespace {

using namespace std::chrono_literals;
using directory::DirectoryServer;
using directory::DirectoryServerOptions;
using testing::ClientOf;

constexpr std::uint64_t kSize = 64_KiB;

std::size_t Count(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

// This process's memory that is not shared; a node's store is shared memory.
std::uint64_t OwnMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

// A real directory and real nodes over TCP; what they log is read at the end.
class LongSession : public ::testing::Test {
 protected:
  LongSession() {
    log::SetLevel(log::Level::kInfo);
    ::testing::internal::CaptureStderr();
  }
  ~LongSession() override {
    if (reading_) ::testing::internal::GetCapturedStderr();
    log::SetLevel(log::Level::kWarn);
  }

  void StartDirectory(DirectoryServerOptions config) {
    if (!address_.empty()) config.listen = address_;
    auto directory = DirectoryServer::Start(config);
    ASSERT_TRUE(directory) << directory.error().ToString();
    directory_ = *std::move(directory);
    address_ = directory_->address();
  }
  std::unique_ptr<node::Node> StartNode(const std::string& name, std::uint64_t memory) {
    NodeConfig config;
    config.name = name;
    config.directory = {address_};
    config.memory_bytes = memory;
    auto node = node::Node::Start(config);
    EXPECT_TRUE(node) << node.error().ToString();
    return *std::move(node);
  }
  std::vector<ObjectId> Put(Client& client, int count) const {
    std::vector<ObjectId> ids;
    for (int i = 0; i < count; ++i) {
      auto id = client.Put(bytes_);
      EXPECT_TRUE(id) << id.error().ToString();
      if (id) ids.push_back(*id);
    }
    return ids;
  }
  // Sessions that nodes opened until now.
  std::size_t Opened() {
    reading_ = false;
    return Count(::testing::internal::GetCapturedStderr(), "is open");
  }

  const std::string bytes_ = testing::Pattern(kSize, 1);
  std::unique_ptr<DirectoryServer> directory_;
  std::string address_;
  bool reading_ = true;
};

TEST_F(LongSession, LastsWhileThousandsOfSmallObjectsAreGotAtOnce) {
  constexpr int kObjects = 3000;
  DirectoryServerOptions options;
  options.recovery_window = 0ms;
  options.inline_limit_bytes = kSize;
  StartDirectory(options);
  const auto putter = StartNode("putter", kObjects * kSize + 16_MiB);
  const auto getter = StartNode("getter", kObjects * kSize + 16_MiB);
  Client putting = ClientOf(*putter);
  Client getting = ClientOf(*getter);
  std::vector<Future<Buffer>> answers;
  for (const ObjectId& id : Put(putting, kObjects)) {
    answers.push_back(getting.GetAsync(id, {.timeout = 60s}));
  }
  std::size_t right = 0;
  for (auto& answer : answers) {
    const auto buffer = answer.Wait();
    ASSERT_TRUE(buffer) << buffer.error().ToString();
    right += testing::Text(*buffer) == bytes_ ? 1 : 0;
  }
  EXPECT_EQ(right, kObjects);
  EXPECT_EQ(Opened(), 2u);
}

TEST_F(LongSession, TellsWhatANodeHoldsInLittleMemory) {
  constexpr int kObjects = 5000;
  DirectoryServerOptions options;
  options.recovery_window = 200ms;
  options.inline_total_bytes = 16_MiB;
  options.inline_limit_bytes = kSize;
  StartDirectory(options);
  const auto node = StartNode("holder", kObjects * kSize + 16_MiB);
  const auto other = StartNode("other", 16_MiB);
  Client client = ClientOf(*node);
  const std::vector<ObjectId> ids = Put(client, kObjects);
  directory_.reset();
  const std::uint64_t before = OwnMemory();
  StartDirectory(options);
  const auto new_one = client.Put(bytes_, {.timeout = 20s});
  EXPECT_TRUE(new_one) << new_one.error().ToString();
  // It comes from its holder, whether or not its bytes are in the directory.
  const auto got = ClientOf(*other).Get(ids.back(), {.timeout = 20s});
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_EQ(testing::Text(*got), bytes_);
  EXPECT_LT(OwnMemory(), before + 64_MiB);
  EXPECT_EQ(Opened(), 4u);
}

}  // namespace
}  // namespace hoplite
