// hoplite certs: an authority and the certificates of a cluster's members, as files.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "net/tls_authority.h"
#include "net/tls_files.h"

namespace hoplite::cli {
namespace {

constexpr std::chrono::days kLifeOfAuthority(3650);
constexpr mode_t kForAll = 0644;
constexpr mode_t kForOwner = 0600;

struct CertsArguments {
  std::string folder;
  std::string cluster;
  std::uint32_t days = 365;
  bool json = false;
};

std::string In(const std::string& folder, const std::string& name) {
  return std::filesystem::path(folder) / name;
}

// Appears under its name when it is whole: members may be reading the one before.
Result<void> WriteFile(const std::string& path, const std::string& content, mode_t mode) {
  const std::string hidden = path + ".new";
  ::unlink(hidden.c_str());
  const FileDescriptor file(::open(hidden.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  const bool written =
      file.get() >= 0 && ::fchmod(file.get(), mode) == 0 &&
      ::write(file.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      ::fsync(file.get()) == 0 && ::rename(hidden.c_str(), path.c_str()) == 0;
  if (written) return {};
  return std::unexpected(OutputError(path, "write"));
}

Result<void> WritePair(const std::string& folder, const std::string& name,
                       const net::TlsPair& pair) {
  TRY(WriteFile(In(folder, name + ".key"), pair.key, kForOwner));
  return WriteFile(In(folder, name + ".pem"), pair.certificate, kForAll);
}

// The one whose files are there, or a new one.
Result<net::TlsAuthority> AuthorityIn(const std::string& folder) {
  const std::string certificate = In(folder, "ca.pem");
  const std::string key = In(folder, "ca.key");
  if (!std::filesystem::exists(certificate) && !std::filesystem::exists(key)) {
    auto made = net::TlsAuthority::Make({.ends = kLifeOfAuthority});
    TRY(WritePair(folder, "ca", made.pair()));
    return made;
  }
  net::TlsPair pair;
  TRY_ASSIGN(pair.certificate, net::ReadSmallFile(certificate, "authority", net::Others::kRead));
  TRY_ASSIGN(pair.key, net::ReadSmallFile(key, "the authority's key", net::Others::kNothing));
  auto read = net::TlsAuthority::Read(pair);
  if (read) return read;
  return std::unexpected(Error(
      read.error().code, fmt::format("{} and {} {}", certificate, key, read.error().message)));
}

Result<void> RunCerts(const CertsArguments& options) {
  if (::mkdir(options.folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return std::unexpected(OutputError(options.folder, "make"));
  }
  TRY_ASSIGN(const net::TlsAuthority authority, AuthorityIn(options.folder));
  Json roles = Json::array();
  for (const net::TlsRole role : {net::TlsRole::kDirectory, net::TlsRole::kNode}) {
    const auto pair =
        authority.Issue(options.cluster, role, {.ends = std::chrono::days(options.days)});
    TRY(WritePair(options.folder, std::string(net::Name(role)), pair));
    roles.push_back(net::Name(role));
  }
  if (options.json) {
    return Print(Json{{"folder", options.folder}, {"roles", roles}, {"days", options.days}});
  }
  return Print(fmt::format(
      "{0}: certificates for {1} days. A host of a shard needs ca.pem, directory.pem and "
      "directory.key,\na host of a node ca.pem, node.pem and node.key. Keep ca.key: it makes "
      "members.\n",
      options.folder, options.days));
}

}  // namespace

void AddCerts(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "certs", "makes certificates of a cluster's members, and their authority if there is none");
  const auto options = std::make_shared<CertsArguments>();
  command->add_option("folder", options->folder, "where they are, or shall be")
      ->type_name("DIR")
      ->required();
  command->add_option("--cluster", options->cluster, "name of the cluster")->type_name("NAME");
  command->add_option("--days", options->days, "how long they last")
      ->type_name("N")
      ->check(CLI::Range(1, 3650))
      ->capture_default_str();
  AddJson(*command, options->json);
  command->callback([&chosen, options] { chosen = [options] { return RunCerts(*options); }; });
}

}  // namespace hoplite::cli
