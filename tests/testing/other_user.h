// A process of another user, for tests that run as root.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hoplite::test {

// Forked at once: better before this process has threads.
class OtherUser {
 public:
  static constexpr uid_t kUser = 54321;   // that nobody has
  static constexpr gid_t kGroup = 54322;  // the same
  static bool possible() { return ::geteuid() == 0; }

  // It does that when it is asked to, as a member of these groups beside `kGroup`.
  OtherUser(std::vector<gid_t> groups, const std::function<std::string()>& does) {
    if (::pipe(asked_) != 0 || ::pipe(told_) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ != 0) return;
    char byte = 0;
    std::string said = "it did not become another user";
    if (::read(asked_[0], &byte, 1) != 1) ::_exit(1);
    if (::setgroups(groups.size(), groups.data()) == 0 && ::setgid(kGroup) == 0 &&
        ::setuid(kUser) == 0) {
      said = does();
    }
    ::_exit(::write(told_[1], said.data(), said.size()) < 0 ? 1 : 0);
  }
  ~OtherUser() {
    for (const int end : {asked_[0], asked_[1], told_[0], told_[1]}) ::close(end);
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

  // What came of it.
  std::string Do() {
    std::string said(4096, '\0');
    if (::write(asked_[1], "x", 1) != 1) return "nobody is there";
    const auto size = ::read(told_[0], said.data(), said.size());
    said.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return said;
  }

 private:
  int asked_[2];
  int told_[2];
  pid_t child_ = 0;
};

}  // namespace hoplite::test
