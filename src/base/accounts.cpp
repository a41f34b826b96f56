#include "base/accounts.h"

#include <charconv>
#include <system_error>
#include <vector>

#include <grp.h>
#include <pwd.h>

namespace hoplite {
namespace {

// For the texts of one entry; a group with some thousand members fits.
constexpr std::size_t kEntryBytes = 256 * 1024;

}  // namespace

std::string UserInWords(uid_t user) {
  std::vector<char> texts(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(user, &entry, texts.data(), texts.size(), &found);
  return found != nullptr ? found->pw_name : "user " + std::to_string(user);
}

std::string GroupInWords(gid_t group) {
  std::vector<char> texts(kEntryBytes);
  ::group entry{};
  ::group* found = nullptr;
  ::getgrgid_r(group, &entry, texts.data(), texts.size(), &found);
  return found != nullptr ? found->gr_name : std::to_string(group);
}

std::optional<gid_t> FindGroup(const std::string& name) {
  std::vector<char> texts(kEntryBytes);
  ::group entry{};
  ::group* found = nullptr;
  ::getgrnam_r(name.c_str(), &entry, texts.data(), texts.size(), &found);
  if (found != nullptr) return found->gr_gid;
  gid_t number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  constexpr gid_t kLeaveAsItIs = -1;
  if (read.ec != std::errc() || read.ptr != end || number == kLeaveAsItIs) return std::nullopt;
  return number;
}

}  // namespace hoplite
