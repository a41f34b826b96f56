// What the conformance suite of DirectoryClient needs of an implementation.
#pragma once

#include <cstddef>
#include <memory>

#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "directory/directory_client.h"
#include "testing/directory_node.h"

namespace hoplite::test {

class DirectoryUnderTest {
 public:
  virtual ~DirectoryUnderTest() = default;
  virtual std::unique_ptr<directory::DirectoryClient> MakeClient(asio::io_context& loop) = 0;
  // The loop that everything of it and its nodes runs on; null: each node has one of its own.
  virtual asio::io_context* loop() { return nullptr; }
  // The shard dies and starts again where it was, without its state.
  virtual void Restart(std::size_t shard) = 0;
};

using MakeDirectory = std::unique_ptr<DirectoryUnderTest> (*)(std::size_t shards);

class DirectoryClientTest : public ::testing::TestWithParam<MakeDirectory> {
 protected:
  void UseShards(std::size_t shards) { directory_ = GetParam()(shards); }
  std::unique_ptr<DirectoryNode> NewNode(const std::string& name);
  std::unique_ptr<DirectoryNode> JoinedNode(const std::string& name);

  std::unique_ptr<DirectoryUnderTest> directory_ = GetParam()(1);

 private:
  int nodes_ = 0;
};

}  // namespace hoplite::test
