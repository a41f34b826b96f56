// ShardedClient: the DirectoryClient over any number of shards, whatever carries the messages.
//
// Decides: which shard an object belongs to. Everything else is ShardLink's and ShardPort's. On the
// node's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include "directory/directory_client.h"
#include "directory/shard_link.h"
#include "directory/shard_port.h"
#include "net/timer.h"

namespace hoplite::directory {

class ShardedClient final : public DirectoryClient {
 public:
  struct Options {
    std::string cluster;
    LinkTimes times;
    Pace pace;
  };
  ShardedClient(asio::io_context& loop, std::vector<std::unique_ptr<ShardPort>> ports,
                Options options);
  ~ShardedClient() override;

  void Start(protocol::NodeInfo self, Hooks hooks) override;
  void Send(protocol::NodeEvent event) override;
  std::size_t shard_count() const override { return ports_.size(); }
  std::optional<std::uint64_t> life(std::size_t shard) const override;
  std::optional<Time> vouched(std::size_t shard) const override;
  std::uint64_t shard_id(std::size_t shard) const override { return known_.at(shard); }
  std::uint64_t inline_limit(std::size_t shard) const override;
  std::optional<Error> why_away(std::size_t shard) const override;
  Duration away_for(std::size_t shard) const override;
  void Find(const ObjectId& object, Duration timeout,
            std::function<void(Result<protocol::ObjectView>)> done) override;
  void Status(std::size_t shard, const protocol::PageRequest& page, Duration timeout,
              std::function<void(Result<protocol::StatusPage>)> done) override;
  void Stop() override;

 private:
  // A question under way: answered once, by the shard, the timeout or Stop, whichever is first.
  struct Question {
    std::unique_ptr<net::Timer> timer;
    std::function<void(Error)> fail;
  };
  template <typename T>
  std::function<void(Result<T>)> Ask(std::size_t shard, Duration timeout,
                                     std::function<void(Result<T>)> done);

  asio::io_context& loop_;
  const Options options_;
  std::vector<std::unique_ptr<ShardPort>> ports_;
  Hooks hooks_;
  ShardIds known_;
  std::vector<std::shared_ptr<ShardLink>> links_;
  // Shared with answers that may come late.
  std::shared_ptr<std::map<std::uint64_t, Question>> questions_;
  std::uint64_t next_question_ = 0;
  bool stopped_ = false;
};

}  // namespace hoplite::directory
