#include "worker.h"

#include <array>
#include <csignal>
#include <cstdio>

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hoplite/node.h>

namespace tasks {
namespace {

constexpr std::string_view kMark = "--task-worker";
constexpr int kDriver = 3;  // the worker's end of the socket

}  // namespace

Worker::Worker(WorkerId id_in, const std::string& directory) : id(id_in) {
  std::array<int, 2> ends{-1, -1};
  ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
  std::array<std::string, 4> words{"worker", std::string(kMark), "w" + std::to_string(id),
                                   directory};
  std::array<char*, 5> arguments{words[0].data(), words[1].data(), words[2].data(),
                                 words[3].data()};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], kDriver);
  const int error =
      ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  if (error != 0) pid_ = -1;
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  socket = ends[0];
}

Worker::~Worker() {
  Kill();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  ::close(socket);
}

void Worker::Kill() const {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

std::optional<int> RunIfWorker(int argc, char** argv, const Functions& functions) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() != 4 || words[1] != kMark) return {};
  const auto node = hoplite::Node::Start(
      {.directory = {words[3]}, .memory_bytes = kMemoryBytes, .name = words[2]});
  if (!node) {
    std::fprintf(stderr, "%s: %s\n", argv[2], node.error().ToString().c_str());
    return 1;
  }
  Send(kDriver, {.verb = Verb::kReady});
  while (auto message = Receive(kDriver)) {
    Call call(kDriver, (*node)->client(), std::move(message->task));
    Send(kDriver, call.Run(functions));
  }
  return 0;
}

}  // namespace tasks
