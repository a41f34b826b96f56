#include <algorithm>

#include <hoplite/config.h>

#include "base/limits.h"
#include "base/shard_list.h"
#include "base/text.h"
#include "base/try.h"
#include "base/units.h"

namespace hoplite {
namespace {

Error Bad(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

Result<void> CheckAddress(const char* field, const std::string& text) {
  const auto address = ParseHostPort(text);
  if (!address) return std::unexpected(Bad(std::string(field) + ": " + address.error().message));
  return {};
}

Result<void> CheckList(const char* field, const std::vector<std::string>& shards) {
  const Result<void> sound = CheckShards(shards);
  if (sound) return {};
  return std::unexpected(Bad(std::string(field) + ": " + sound.error().message));
}

// Members tell each other times of up to a year.
Result<void> CheckTime(const char* field, std::chrono::milliseconds time) {
  if (time.count() < 0) return std::unexpected(Bad(std::string(field) + ": must not be negative"));
  if (time <= std::chrono::days(365)) return {};
  return std::unexpected(Bad(std::string(field) + ": must not be longer than a year"));
}

Result<void> CheckPositive(const char* field, std::chrono::milliseconds time) {
  if (time.count() <= 0) return std::unexpected(Bad(std::string(field) + " must be above zero"));
  return CheckTime(field, time);
}

// The names of nodes and clusters are shown by every member, and travel as text.
Result<void> CheckName(const char* field, const std::string& name) {
  constexpr std::size_t kLongestName = 255;
  if (name.size() > kLongestName) {
    return std::unexpected(Bad(std::string(field) + ": " + std::to_string(name.size()) +
                               " bytes, the longest may have 255"));
  }
  if (!IsPlainText(name)) {
    return std::unexpected(
        Bad(std::string(field) +
            ": must be UTF-8 without control and format characters and line breaks"));
  }
  return {};
}

Result<void> CheckAdvertised(const std::string& host) {
  if (host.empty() || IsHost(host)) return {};
  return std::unexpected(Bad("advertise: '" + (IsPlainText(host) ? host : "...") +
                             "' is no host: write HOST alone, as 10.0.0.7, ::1 or node7.example; "
                             "the port is the one it listens on"));
}

bool IsWildcard(const std::string& listen) {
  const auto address = ParseHostPort(listen);
  return address && (address->host == "0.0.0.0" || address->host == "::");
}

bool HasPort(const std::string& shard, std::uint16_t port) {
  return std::ranges::any_of(MembersOf(shard), [port](const std::string& member) {
    return ParseHostPort(member)->port == port;
  });
}

// One host has many names, so only ports are compared: without this one's port the list is wrong.
// Where shards have several members, a member must know which one it is.
Result<void> CheckOwnPlace(const std::string& listen, const std::vector<std::string>& shards) {
  const bool several =
      std::ranges::any_of(shards, [](const std::string& shard) { return shard.contains('/'); });
  if (several && !PlaceOf(shards, listen)) {
    return std::unexpected(Bad("shards: '" + listen +
                               "' of listen is none of them, letter by letter: a member of a shard "
                               "that has several must know which one it is"));
  }
  const std::uint16_t port = ParseHostPort(listen)->port;
  const bool listed = std::ranges::any_of(
      shards, [port](const std::string& shard) { return HasPort(shard, port); });
  if (shards.empty() || listed) return {};
  return std::unexpected(
      Bad("shards: none of them has the port of listen, " + std::to_string(port)));
}

// A disk has no size of its own that would do: others use it, too.
Result<void> CheckSpill(const std::string& folder, std::uint64_t limit_bytes, std::uint32_t nodes) {
  if (nodes < 1) return std::unexpected(Bad("spill_nodes: this node is one of them"));
  if (folder.empty() && limit_bytes > 0) {
    return std::unexpected(Bad("spill_limit_bytes: there is no spill_folder to limit"));
  }
  if (!folder.empty() && limit_bytes < 1_MiB) {
    return std::unexpected(
        Bad("spill_limit_bytes: must be given with spill_folder, and be at least 1 MiB"));
  }
  return {};
}

}  // namespace

Result<void> SecurityConfig::Validate() const {
  const bool all = !tls_ca.empty() && !tls_cert.empty() && !tls_key.empty();
  const bool some = !tls_ca.empty() || !tls_cert.empty() || !tls_key.empty();
  if (some && !all) {
    const char* missing = tls_ca.empty() ? "tls_ca" : tls_cert.empty() ? "tls_cert" : "tls_key";
    return std::unexpected(
        Bad(std::string(missing) + ": tls_ca, tls_cert and tls_key are needed together"));
  }
  if (some && !secret_file.empty()) {
    return std::unexpected(Bad("secret_file: give either it or certificates, not both"));
  }
  return {};
}

Result<void> NodeConfig::Validate() const {
  constexpr std::uint64_t kLeastMemory = 1_MiB;
  if (directory.empty()) return std::unexpected(Bad("directory: at least one address is needed"));
  TRY(CheckList("directory", directory));
  TRY(CheckAddress("listen", listen));
  if (IsWildcard(listen) && advertise.empty()) {
    return std::unexpected(Bad("advertise: needed when listening on " + listen +
                               ", since peers can't connect to that"));
  }
  TRY(CheckAdvertised(advertise));
  TRY(security.Validate());
  if (!socket_group.empty() && socket.empty()) {
    return std::unexpected(Bad("socket_group: there is no socket to be used by a group"));
  }
  if (memory_bytes == 0) return std::unexpected(Bad("memory_bytes: must be given"));
  if (memory_bytes < kLeastMemory) {
    return std::unexpected(Bad("memory_bytes: " + FormatExactSize(memory_bytes) +
                               " is below the least, " + FormatSize(kLeastMemory)));
  }
  TRY(CheckName("name", name));
  TRY(CheckName("cluster", cluster));
  TRY(CheckName("site", site));
  TRY(CheckPositive("keepalive", keepalive));
  TRY(CheckPositive("stall", stall));
  if (stall <= keepalive) return std::unexpected(Bad("stall: must be longer than keepalive"));
  if (max_fetches < 1) return std::unexpected(Bad("max_fetches: must be above zero"));
  if (data_threads < 1 || data_threads > 64) {
    return std::unexpected(
        Bad("data_threads: " + std::to_string(data_threads) + " is not in [1, 64]"));
  }
  if (requests_per_client == 0 || pins_per_client == 0) {
    return std::unexpected(Bad("requests_per_client and pins_per_client must be above zero"));
  }
  if (max_owned == 0) return std::unexpected(Bad("max_owned: must be above zero"));
  return CheckSpill(spill_folder, spill_limit_bytes, spill_nodes);
}

Result<void> DirectoryConfig::Validate() const {
  TRY(CheckAddress("listen", listen));
  TRY(CheckList("shards", shards));
  TRY(CheckOwnPlace(listen, shards));
  TRY(security.Validate());
  TRY(CheckName("cluster", cluster));
  TRY(CheckPositive("heartbeat", heartbeat));
  TRY(CheckPositive("lease", lease));
  TRY(CheckPositive("grace", grace));
  TRY(CheckPositive("tombstone", tombstone));
  if (lease <= heartbeat) return std::unexpected(Bad("lease: must be longer than heartbeat"));
  TRY(CheckTime("orphan_grace", orphan_grace));
  TRY(CheckTime("recovery_window", recovery_window));
  TRY(CheckTime("recovery_limit", recovery_limit));
  // A node may come back with its copies, or its owners, while it is remembered: deletions must
  // last as long.
  if (tombstone < lease + grace + orphan_grace) {
    return std::unexpected(
        Bad("tombstone: must not be shorter than lease, grace and orphan_grace together"));
  }
  if (inline_limit_bytes > kMaxInlineBytes)
    return std::unexpected(Bad("inline_limit_bytes: at most " + FormatSize(kMaxInlineBytes) +
                               ", not " + FormatSize(inline_limit_bytes)));
  if (recovery_limit < recovery_window)
    return std::unexpected(Bad("recovery_limit: must not be shorter than recovery_window"));
  if (session_queue_bytes == 0)
    return std::unexpected(Bad("session_queue_bytes: must be above zero"));
  return {};
}

}  // namespace hoplite
