#include "cli/demo/page.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

namespace hoplite::cli::demo {
namespace {

constexpr std::chrono::minutes kStays(10);

bool HasDisplay() {
  const auto set = [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  return set("DISPLAY") || set("WAYLAND_DISPLAY");
}

// The browser is the user's: it may outlive this process. Where there is no xdg-open, nothing happens.
void OpenInBrowser(std::string url) {
  std::string program = "xdg-open";
  const std::array<char*, 3> arguments{program.data(), url.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
  }
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  pid_t child = 0;
  (void)::posix_spawnp(&child, program.c_str(), &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
}

}  // namespace

void ShowPage(const std::string& address, Screen& screen) {
  const std::string url = fmt::format("http://{}/", address);
  screen.Say(fmt::format("The page of the cluster: {}", url));
  if (HasDisplay()) OpenInBrowser(url);
}

void KeepPage(const StopSignal& stop, Screen& screen) {
  screen.Say(
      fmt::format("The page stays for {} minutes. Enter or Ctrl-C ends it.", kStays.count()));
  std::array<pollfd, 2> watched{{{stop.fd(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(kStays);
  while (::poll(watched.data(), watched.size(), static_cast<int>(most.count())) < 0 &&
         errno == EINTR) {
  }
}

}  // namespace hoplite::cli::demo
