// LocalNode: what a client sees of a node: a FakeOperations, the thread of its loop and its local
// endpoint.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <hoplite/client.h>

#include "base/units.h"
#include "client/client_access.h"
#include "node/local/local_endpoint.h"
#include "testing/eventually.h"
#include "testing/fake_operations.h"

namespace hoplite::test {

inline std::string FreshSocketPath() {
  static std::atomic<int> count{0};
  return std::filesystem::temp_directory_path() /
         ("hoplite-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
}

class LocalNode {
 public:
  explicit LocalNode(std::uint64_t memory_bytes = 64_MiB, std::string path = FreshSocketPath(),
                     node::ClientLimits limits = {}, const std::string& group = {})
      : path_(std::move(path)), operations_(loop_, memory_bytes), endpoint_(operations_, limits) {
    if (const auto listening = endpoint_.Listen(path_, group); !listening) {
      throw std::runtime_error(listening.error().message);
    }
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~LocalNode() { Stop(); }
  LocalNode(const LocalNode&) = delete;
  LocalNode& operator=(const LocalNode&) = delete;

  // Runs it on the node's loop and gives what it returns.
  template <typename F>
  auto OnLoop(F function) {
    std::packaged_task<decltype(function())()> task(std::move(function));
    auto result = task.get_future();
    asio::post(loop_, std::ref(task));
    return result.get();
  }
  void Stop() {
    if (!thread_.joinable()) return;
    OnLoop([this] { endpoint_.Stop(); });
    work_.reset();
    thread_.join();
  }

  const std::string& path() const { return path_; }
  FakeOperations& operations() { return operations_; }
  node::LocalEndpoint& endpoint() { return endpoint_; }

  std::uint64_t used_bytes() {
    return OnLoop([this] { return operations_.store().usage().used_bytes; });
  }
  std::size_t waiting() {
    return OnLoop([this] { return operations_.waiting(); });
  }

  // A client as a worker process has it.
  Client Worker() { return Client::Connect(path_).value(); }
  // A client as the node's own process has it.
  Client InProcess() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      throw std::runtime_error("no socketpair");
    }
    OnLoop([this, end = ends[1]] { return endpoint_.AddSession(end).has_value(); });
    auto& segment = operations_.store().segment();
    auto map = client::SegmentMap::Of(segment.bytes(), segment.read_only_descriptor(), nullptr);
    return ClientAccess::Make(client::Connection::Attach(ends[0], std::move(map), kNever).value());
  }

 private:
  const std::string path_;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  FakeOperations operations_;
  node::LocalEndpoint endpoint_;
  std::thread thread_;
};

}  // namespace hoplite::test
