#include "directory/sharded_client.h"

#include <utility>

#include "base/limits.h"
#include "directory/away.h"

namespace hoplite::directory {

ShardedClient::ShardedClient(asio::io_context& loop, std::vector<std::unique_ptr<ShardPort>> ports,
                             Options options)
    : loop_(loop),
      options_(std::move(options)),
      ports_(std::move(ports)),
      known_(ports_.size()),
      questions_(std::make_shared<std::map<std::uint64_t, Question>>()) {}

ShardedClient::~ShardedClient() { Stop(); }

void ShardedClient::Start(protocol::NodeInfo self, Hooks hooks) {
  hooks_ = std::move(hooks);
  for (std::size_t shard = 0; shard < ports_.size(); ++shard) {
    wire::Hello hello;
    hello.node = self;
    hello.cluster = options_.cluster;
    hello.shard_index = shard;
    hello.shard_count = ports_.size();
    links_.push_back(std::make_shared<ShardLink>(loop_, *ports_[shard], std::move(hello), known_,
                                                 hooks_, options_.times, options_.pace));
  }
  for (const auto& link : links_) link->Start();
}

void ShardedClient::Send(protocol::NodeEvent event) {
  if (links_.empty()) return;
  if (const ObjectId* object = protocol::ObjectOf(event)) {
    links_.at(ShardOf(*object, links_.size()))->Send(std::move(event));
    return;
  }
  for (const auto& link : links_) link->Send(event);
}

std::optional<std::uint64_t> ShardedClient::life(std::size_t shard) const {
  return shard < links_.size() ? links_[shard]->life() : std::nullopt;
}

std::optional<Time> ShardedClient::vouched(std::size_t shard) const {
  return shard < links_.size() ? links_[shard]->vouched() : std::nullopt;
}

std::uint64_t ShardedClient::inline_limit(std::size_t shard) const {
  return shard < links_.size() ? links_[shard]->inline_limit() : kMaxInlineBytes;
}

std::optional<Error> ShardedClient::why_away(std::size_t shard) const {
  return shard < links_.size() ? links_[shard]->why_away() : std::nullopt;
}

Duration ShardedClient::away_for(std::size_t shard) const {
  return shard < links_.size() ? links_[shard]->away_for() : Duration{0};
}

void ShardedClient::Find(const ObjectId& object, Duration timeout,
                         std::function<void(Result<protocol::ObjectView>)> done) {
  const std::size_t shard = ShardOf(object, ports_.size());
  ports_[shard]->Find(object, timeout, Ask(shard, timeout, std::move(done)));
}

void ShardedClient::Status(std::size_t shard, const protocol::PageRequest& page, Duration timeout,
                           std::function<void(Result<protocol::StatusPage>)> done) {
  ports_.at(shard)->Status(page, timeout, Ask(shard, timeout, std::move(done)));
}

template <typename T>
std::function<void(Result<T>)> ShardedClient::Ask(std::size_t shard, Duration timeout,
                                                  std::function<void(Result<T>)> done) {
  const std::uint64_t number = ++next_question_;
  const std::weak_ptr questions = questions_;
  auto answer = [questions, number, done = std::move(done)](Result<T> result) {
    const auto open = questions.lock();
    if (open && open->erase(number) > 0) done(std::move(result));
  };
  Question question{std::make_unique<net::Timer>(loop_),
                    [answer](Error error) { answer(std::unexpected(std::move(error))); }};
  question.timer->expires_after(timeout);
  question.timer->async_wait([answer, shard](const asio::error_code& error) {
    if (error) return;
    answer(std::unexpected(Error(ErrorCode::kTimeout, Away(shard, kNoAnswer))));
  });
  questions_->emplace(number, std::move(question));
  return answer;
}

void ShardedClient::Stop() {
  if (std::exchange(stopped_, true)) return;
  for (const auto& link : links_) link->Stop();
  for (const auto& port : ports_) port->Stop();
  while (!questions_->empty()) {
    const auto fail = questions_->begin()->second.fail;
    fail(Error(ErrorCode::kCancelled, "the directory client was stopped"));
  }
}

}  // namespace hoplite::directory
