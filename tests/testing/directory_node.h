// DirectoryNode: a node reduced to its directory client, on a loop and thread of its own, unless it
// is given a loop that another thread runs. Tests say what it says and wait, with a bound, for what
// it is told.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include "directory/directory_client.h"
#include "testing/eventually.h"

namespace hoplite::test {

inline constexpr Duration kPatience = std::chrono::seconds(20);

class DirectoryNode {
 public:
  using MakeClient =
      std::function<std::unique_ptr<directory::DirectoryClient>(asio::io_context& loop)>;

  DirectoryNode(NodeId id, const std::string& name, const MakeClient& make,
                asio::io_context* shared_loop = nullptr)
      : info_{id, name, "127.0.0.1:" + std::to_string(1000 + Raw(id) % 1000)},
        loop_(shared_loop != nullptr ? *shared_loop : own_loop_) {
    thread_ = std::thread([this] { own_loop_.run(); });
    Run([&] { client_ = make(loop_); });
  }

  // On the node's loop.
  template <typename Step>
  std::invoke_result_t<Step> Run(Step step) {
    std::packaged_task<std::invoke_result_t<Step>()> task(std::move(step));
    auto result = task.get_future();
    asio::post(loop_, std::move(task));
    return result.get();
  }

  ~DirectoryNode() {
    Run([this] { client_->Stop(); });
    work_.reset();
    thread_.join();
    // A thread that still runs may be about to touch it.
    if (&loop_ != &own_loop_) Run([this] { client_.reset(); });
  }

  void Start() {
    Run([this] {
      client_->Start(info_,
                     {.on_action = [this](const auto& action) { Add(actions_, action); },
                      .inventory =
                          [this](std::size_t shard, const auto&, std::size_t, const auto&) {
                            Add(inventories_, shard);
                            return directory::DirectoryClient::Part{inventory_, {}};
                          },
                      .on_session = [this](std::size_t shard,
                                           bool open) { Add(sessions_, std::pair(shard, open)); },
                      .on_settled = [this](std::size_t shard) { Add(settled_, shard); },
                      .on_refused = [this](const Error& error) { Add(refusals_, error); },
                      .on_lost = [this](std::size_t shard) { Add(losses_, shard); },
                      .on_outlived = [this](std::size_t shard) { Add(outlived_, shard); }});
    });
  }
  // Starts it and waits until every shard has welcomed it.
  void Join() {
    Start();
    WaitUntilConnected();
  }
  bool WaitUntilConnected() {
    return WaitFor([this] {
      return Run([this] {
        for (std::size_t shard = 0; shard < client_->shard_count(); ++shard) {
          if (!client_->connected(shard)) return false;
        }
        return true;
      });
    });
  }

  void Say(protocol::NodeEvent event) {
    asio::post(loop_, [this, event = std::move(event)] { client_->Send(event); });
  }
  // Sets what the node tells in its next sessions.
  void SetInventory(std::vector<protocol::NodeEvent> inventory) {
    Run([this, &inventory] { inventory_ = std::move(inventory); });
  }

  // The first action of this kind about the object that was not taken yet.
  template <typename T>
  std::optional<T> Take(const ObjectId& object) {
    std::optional<T> taken;
    WaitFor([&] {
      const std::lock_guard lock(mutex_);
      for (auto it = actions_.begin(); it != actions_.end(); ++it) {
        const T* action = std::get_if<T>(&*it);
        if (!action || action->object != object) continue;
        taken = *action;
        actions_.erase(it);
        return true;
      }
      return false;
    });
    return taken;
  }

  Result<protocol::ObjectView> Find(const ObjectId& object, Duration timeout = kPatience) {
    return Ask<protocol::ObjectView>(
        [&](auto done) { client_->Find(object, timeout, std::move(done)); });
  }
  auto Status(std::size_t shard, const protocol::PageRequest& page = {},
              Duration timeout = kPatience) {
    return Ask<protocol::StatusPage>(
        [&](auto done) { client_->Status(shard, page, timeout, std::move(done)); });
  }
  // Asks until the directory's picture of the object fits; false when it never does.
  bool Sees(const ObjectId& object, std::function<bool(const protocol::ObjectView&)> fits) {
    return WaitFor([&] {
      const auto view = Find(object);
      return view && fits(*view);
    });
  }

  std::vector<Error> refusals() { return Copy(refusals_); }
  std::vector<std::size_t> losses() { return Copy(losses_); }
  std::vector<std::size_t> settled() { return Copy(settled_); }
  std::vector<std::size_t> inventories() { return Copy(inventories_); }
  std::vector<std::pair<std::size_t, bool>> sessions() { return Copy(sessions_); }
  std::vector<std::size_t> outlived() { return Copy(outlived_); }
  std::size_t action_count() { return Copy(actions_).size(); }

  template <typename Condition>
  bool WaitFor(Condition condition) {
    return Eventually(condition, std::chrono::duration_cast<std::chrono::milliseconds>(kPatience));
  }

  directory::DirectoryClient& client() { return *client_; }
  const protocol::NodeInfo& info() const { return info_; }

 private:
  template <typename T, typename Starter>
  Result<T> Ask(Starter start) {
    const auto answer = std::make_shared<std::promise<Result<T>>>();
    auto result = answer->get_future();
    Run([&] { start([answer](Result<T> value) { answer->set_value(std::move(value)); }); });
    return result.get();
  }
  template <typename List, typename Item>
  void Add(List& list, const Item& item) {
    const std::lock_guard lock(mutex_);
    list.push_back(item);
  }
  template <typename List>
  List Copy(const List& list) {
    const std::lock_guard lock(mutex_);
    return list;
  }

  const protocol::NodeInfo info_;
  asio::io_context own_loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{own_loop_.get_executor()};
  asio::io_context& loop_;
  std::vector<protocol::NodeEvent> inventory_;  // on the loop
  std::mutex mutex_;
  std::vector<protocol::NodeAction> actions_;
  std::vector<std::size_t> inventories_;
  std::vector<std::pair<std::size_t, bool>> sessions_;
  std::vector<Error> refusals_;
  std::vector<std::size_t> losses_;
  std::vector<std::size_t> settled_;
  std::vector<std::size_t> outlived_;
  std::unique_ptr<directory::DirectoryClient> client_;
  std::thread thread_;
};

}  // namespace hoplite::test
