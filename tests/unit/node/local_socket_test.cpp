// The socket of a node as a file: who makes it, and that it goes.
#include <cstring>
#include <filesystem>
#include <latch>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "testing/local_node.h"

namespace hoplite::test {
namespace {

// Between bind and listen a living node's socket looks like a dead one's.
TEST(LocalSocketTest, OfTwoThatStartAtOnceAtOneSocketOneIsRefused) {
  for (int round = 0; round < 300; ++round) {
    const std::string path = FreshSocketPath();
    asio::io_context loops[2];
    FakeOperations operations[] = {{loops[0], 64_KiB}, {loops[1], 64_KiB}};
    node::LocalEndpoint endpoints[] = {node::LocalEndpoint(operations[0]),
                                       node::LocalEndpoint(operations[1])};
    std::latch start(2);
    Result<void> listen[2];
    const auto begin = [&](int i) {
      start.arrive_and_wait();
      listen[i] = endpoints[i].Listen(path);
    };
    std::thread other(begin, 0);
    begin(1);
    other.join();
    ASSERT_NE(listen[0].has_value(), listen[1].has_value()) << "round " << round;
    const auto& refused = listen[0] ? listen[1] : listen[0];
    EXPECT_THAT(refused.error().message, testing::HasSubstr("another node"));
    for (auto& endpoint : endpoints) endpoint.Stop();
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
  }
}

// A thread's own user, which may not write everywhere.
TEST(LocalSocketTest, WhereADeadNodesSocketCanNotBeRemovedItSaysSo) {
  const std::string folder = FreshSocketPath();
  std::filesystem::create_directory(folder);
  const std::string stale = folder + "/n.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, stale.data(), stale.size());
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(dead);
  ::chmod(stale.c_str(), 0666);
  ::chmod(folder.c_str(), 0555);
  std::string said;
  std::thread([&] {
    ::setfsuid(65534);
    asio::io_context loop;
    FakeOperations operations(loop, 64_KiB);
    node::LocalEndpoint endpoint(operations);
    const auto listening = endpoint.Listen(stale);
    said = listening ? "it listens" : listening.error().message;
  }).join();
  EXPECT_THAT(said, testing::HasSubstr("Permission denied"));
  EXPECT_THAT(said, testing::HasSubstr(folder));
  ::chmod(folder.c_str(), 0755);
  std::filesystem::remove_all(folder);
}

TEST(LocalSocketTest, ItsSocketGoesAlsoWhenTheProcessHasAnotherFolderByThen) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::temp_directory_path());
  const std::string path = FreshSocketPath();
  {
    LocalNode node(1_MiB, std::filesystem::path(path).filename());
    EXPECT_TRUE(std::filesystem::exists(path));
    std::filesystem::current_path("/");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace hoplite::test
