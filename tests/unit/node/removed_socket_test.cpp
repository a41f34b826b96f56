// The file of a node's socket, which others may remove or replace.
#include <chrono>
#include <filesystem>
#include <string>

#include <asio/io_context.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/local/local_endpoint.h"
#include "testing/eventually.h"
#include "testing/local_node.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

TEST(RemovedSocket, ASocketThatSomebodyRemovedIsThereAgain) {
  LocalNode node;
  Client before = node.Worker();
  ASSERT_TRUE(std::filesystem::remove(node.path()));
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(node.path()); }));
  struct stat found{};
  ASSERT_EQ(::stat(node.path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_TRUE(Eventually([&] { return Client::Connect(node.path(), 5s).has_value(); }));
  EXPECT_TRUE(before.Put("who was there goes on"));
}

TEST(RemovedSocket, WhatSomebodyPutInItsPlaceIsLeftAlone) {
  const std::string path = FreshSocketPath();
  asio::io_context loop;
  FakeOperations operations(loop, 1_MiB);
  node::LocalEndpoint endpoint(operations);
  ASSERT_TRUE(endpoint.Listen(path));
  ASSERT_TRUE(std::filesystem::remove(path));
  ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  loop.run_for(2500ms);
  endpoint.Stop();
  EXPECT_TRUE(std::filesystem::remove(path));
}

}  // namespace
}  // namespace hoplite::test
