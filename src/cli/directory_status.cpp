#include "cli/directory_status.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "base/try.h"
#include "client/pictures.h"
#include "client/status.h"
#include "directory/away.h"
#include "directory/tcp_port.h"

namespace hoplite::cli {
namespace {

// Every node has a session with every shard, and is alive if all of them think so.
void AddNode(const NodeStatus& node, std::vector<NodeStatus>& nodes) {
  const auto known = std::ranges::find(nodes, node.name, &NodeStatus::name);
  if (known == nodes.end()) return nodes.push_back(node);
  known->alive = known->alive && node.alive;
  // A shard hears of the transfers of its own objects only: whoever heard one last knows best.
  const bool heard_later = known->bytes_per_second == 0 || node.rate_age < known->rate_age;
  if (node.bytes_per_second > 0 && heard_later) {
    known->bytes_per_second = node.bytes_per_second;
    known->rate_age = node.rate_age;
  }
  known->round_trip = std::max(known->round_trip, node.round_trip);
}

// Asks one shard for page after page; each page has the timeout for itself.
class ShardQuestions {
 public:
  ShardQuestions(std::string address, net::SecurityPtr security, Duration timeout)
      : address_(std::move(address)),
        timeout_(timeout),
        port_(directory::MakeTcpPort(loop_, address_, std::move(security))) {}
  ~ShardQuestions() { port_->Stop(); }

  Result<protocol::StatusPage> Ask(const protocol::PageRequest& page) {
    auto answer = std::make_shared<std::optional<Result<protocol::StatusPage>>>();
    port_->Status(page, timeout_, [answer, this](Result<protocol::StatusPage> said) {
      *answer = std::move(said);
      loop_.stop();
    });
    loop_.restart();
    // The call has this deadline itself; a second more is for its answer.
    loop_.run_for(timeout_ + std::chrono::seconds(1));
    if (*answer) return **std::move(answer);
    return std::unexpected(
        Error(ErrorCode::kTimeout, directory::Away(address_, directory::kNoAnswer)));
  }

 private:
  const std::string address_;
  const Duration timeout_;
  asio::io_context loop_;
  asio::executor_work_guard<asio::io_context::executor_type> stay_ = asio::make_work_guard(loop_);
  const std::unique_ptr<directory::ShardPort> port_;
};

Result<void> AddObjects(ShardQuestions& questions, std::uint64_t max_objects,
                        ClusterStatus& status) {
  std::uint64_t left = max_objects;
  protocol::PageRequest request;
  for (;;) {
    request.limit =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(left, 1, protocol::kMaxPageObjects));
    TRY_ASSIGN(const protocol::StatusPage said, questions.Ask(request));
    if (!request.after) {
      for (const auto& node : said.nodes) AddNode(client::ToNodeStatus(node), status.nodes);
      status.shards.push_back(client::ToShardStatus(said.shard));
    }
    for (const auto& object : said.page.objects) {
      if (left == 0) break;
      status.objects.push_back(client::ToObjectInfo(object));
      --left;
    }
    if (!said.page.more || left == 0 || said.page.objects.empty()) return {};
    request.after = said.page.objects.back().object;
  }
}

}  // namespace

Result<ClusterStatus> StatusOfDirectory(const std::vector<std::string>& shards,
                                        const net::SecurityPtr& security, Duration timeout,
                                        std::uint64_t max_objects) {
  ClusterStatus status;
  std::optional<Error> lacks;  // the first
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    ShardQuestions questions(shards[shard], security, timeout);
    const Result<void> added = AddObjects(questions, max_objects, status);
    if (added) continue;
    if (!client::LacksOne(added.error())) return std::unexpected(added.error());
    if (!lacks) lacks = added.error();
    client::AddAway(added.error(), shard, status);
  }
  return client::WithWhatIsThere(std::move(status), max_objects, lacks);
}

}  // namespace hoplite::cli
