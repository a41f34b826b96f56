// A directory that answers nothing: for parts of a node that speak to their peers only.
#pragma once

#include <functional>
#include <optional>

#include "base/limits.h"
#include "directory/directory_client.h"

namespace hoplite::testing {

class NoDirectory final : public directory::DirectoryClient {
 public:
  void Start(protocol::NodeInfo, Hooks) override {}
  void Send(protocol::NodeEvent) override {}
  std::size_t shard_count() const override { return 1; }
  std::optional<std::uint64_t> life(std::size_t) const override { return 1; }
  std::optional<Time> vouched(std::size_t) const override { return std::nullopt; }
  std::uint64_t shard_id(std::size_t) const override { return 0; }
  std::uint64_t inline_limit(std::size_t) const override { return kMaxInlineBytes; }
  std::optional<Error> why_away(std::size_t) const override { return std::nullopt; }
  Duration away_for(std::size_t) const override { return Duration{0}; }
  void Find(const ObjectId&, Duration, std::function<void(Result<protocol::ObjectView>)>) override {
  }
  void Status(std::size_t, const protocol::PageRequest&, Duration,
              std::function<void(Result<protocol::StatusPage>)>) override {}
  void Stop() override {}
};

}  // namespace hoplite::testing
