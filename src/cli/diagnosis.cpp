#include "cli/diagnosis.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output.h"
#include "client/pictures.h"

namespace hoplite::cli {
namespace {

using std::chrono::seconds;

constexpr Duration kClockOff = seconds(1);  // beside what the question's way makes uncertain
constexpr std::uint64_t kLeastDescriptors = 4096;
constexpr std::uint64_t kLeastMemory =
    64_MiB;  // that a node's process should have beside its store
constexpr Duration kCertificateSoon = std::chrono::days(14);

std::string FormatDuration(Duration time) {
  const double milliseconds = ToSeconds(time) * 1e3;
  return milliseconds < 1000 ? fmt::format("{:.1f} ms", milliseconds)
                             : fmt::format("{:.1f} s", milliseconds / 1e3);
}

class Diagnoser {
 public:
  Diagnoser(const Examination& found, const std::string& version)
      : found_(found), version_(version) {}

  std::vector<Finding> Diagnose() {
    for (std::size_t i = 0; i < found_.shards.size(); ++i) Shard(i);
    for (const ExaminedNode& node : found_.nodes) Node(node);
    Pairs();
    for (const ExaminedNode& node : found_.nodes) Link(node);
    return std::move(findings_);
  }

 private:
  void Well(std::string subject, std::string what) {
    findings_.push_back({true, std::move(subject), std::move(what), ""});
  }
  void Bad(std::string subject, std::string what, std::string advice) {
    findings_.push_back({false, std::move(subject), std::move(what), std::move(advice)});
  }

  void Shard(std::size_t number) {
    const ExaminedShard& shard = found_.shards[number];
    const std::string subject = fmt::format("directory shard {} at {}", number, shard.address);
    if (!shard.picture) {
      return Bad(subject, shard.picture.error().message,
                 "start it, open its port for all nodes, and give this command the members' "
                 "certificates or secret");
    }
    Well(subject, fmt::format("answers, and knows {} nodes", shard.picture->nodes.size()));
    Members(subject, client::ToShardStatus(shard.picture->shard));
  }

  void Members(const std::string& subject, const ShardStatus& shard) {
    if (shard.held_by.empty()) return;
    if (shard.silent.empty()) return Well(subject, MembersInWords(shard));
    Bad(subject, MembersInWords(shard), "start what is silent, and open its port for the others");
  }

  void Node(const ExaminedNode& node) {
    const std::string& name = node.view.node.name;
    Sessions(node);
    if (!node.told) {
      return Bad(name,
                 fmt::format("{} does not answer this host: {}", node.view.node.address,
                             node.told.error().message),
                 "run this command where nodes run; there open the port, let the name resolve, or "
                 "start the node with another --advertise");
    }
    Well(name,
         fmt::format("{} answers in {}, store {}", node.view.node.address,
                     FormatDuration(node.answered_in), FormatSize(node.view.usage.memory_bytes)));
    Address(node);
    Version(name, node.told->version);
    Clock(node);
    Descriptors(name, *node.told);
    Memory(name, *node.told);
    if (node.certificate) Certificate(name, *node.certificate);
  }

  void Sessions(const ExaminedNode& node) {
    const std::string& name = node.view.node.name;
    if (!node.view.alive) {
      Bad(name, "its session with a directory shard is interrupted",
          "look whether it runs; its log names the shard that it can't reach");
    }
    if (!node.strange_to.empty()) {
      Bad(name, fmt::format("directory shards {} don't know it", fmt::join(node.strange_to, ", ")),
          "give it all shards after --directory, in the same order, and open their ports to it");
    }
  }

  void Address(const ExaminedNode& node) {
    const bool alone = found_.nodes.size() == 1;
    const std::string_view address = node.view.node.address;
    const bool loopback = address.starts_with("127.") || address.starts_with("[::1]") ||
                          address.starts_with("localhost:");
    const auto elsewhere = [&](const ExaminedNode& other) {
      return !std::string_view(other.view.node.address).starts_with("127.") &&
             !std::string_view(other.view.node.address).starts_with("[::1]");
    };
    if (alone || !loopback || std::ranges::none_of(found_.nodes, elsewhere)) return;
    Bad(node.view.node.name, fmt::format("advertises {}, which other hosts don't reach", address),
        "start it with --advertise HOST");
  }

  void Version(const std::string& name, const std::string& version) {
    if (version == version_) return Well(name, "version " + version);
    Bad(name, fmt::format("version {}, and this program is {}", version, version_),
        "run one version on all hosts");
  }

  void Clock(const ExaminedNode& node) {
    const Duration off = std::chrono::abs(node.clock_ahead);
    const std::string words = fmt::format("its clock is {} {} this host's", FormatDuration(off),
                                          node.clock_ahead > Duration(0) ? "ahead of" : "behind");
    if (off <= kClockOff + node.answered_in / 2) return Well(node.view.node.name, words);
    Bad(node.view.node.name, words,
        "run chrony or another NTP client on all hosts: certificates and logs go by the clock");
  }

  void Descriptors(const std::string& name, const wire::CheckUp& told) {
    const std::string words =
        fmt::format("{} of {} descriptors are open", told.descriptors, told.descriptor_limit);
    if (told.descriptor_limit >= kLeastDescriptors &&
        told.descriptors <= told.descriptor_limit / 2) {
      return Well(name, words);
    }
    Bad(name, words,
        fmt::format("raise the limit (ulimit -n, LimitNOFILE=) to {} or more",
                    std::max(kLeastDescriptors, 4 * told.descriptors)));
  }

  void Memory(const std::string& name, const wire::CheckUp& told) {
    const std::string words = fmt::format("{} of memory are left, the limit is {}",
                                          FormatSize(told.available_bytes), told.limited_by);
    if (told.available_bytes >= kLeastMemory) return Well(name, words);
    Bad(name, words, "raise that limit, or start the node with less --memory");
  }

  void Certificate(const std::string& name, Duration left) {
    const auto days = std::chrono::floor<std::chrono::days>(left).count();
    const std::string words = fmt::format("its certificate is good for {} days", days);
    if (left >= kCertificateSoon) return Well(name, words);
    Bad(name, words,
        "make new ones of the same authority (hoplite certs) and copy them to members");
  }

  void Pairs() {
    std::size_t reached = 0;
    Duration slowest{0};
    for (const ExaminedNode& from : found_.nodes) {
      for (const auto& [to, took] : from.reaches) {
        if (took) {
          ++reached;
          slowest = std::max(slowest, *took);
          continue;
        }
        Bad(fmt::format("{} to {}", from.view.node.name, to), took.error().message,
            fmt::format("let {}'s host resolve and reach that address", from.view.node.name));
      }
    }
    if (reached == 0) return;
    Well("nodes to each other",
         fmt::format("{} of {} ways work, the slowest took {}", reached,
                     found_.nodes.size() * (found_.nodes.size() - 1), FormatDuration(slowest)));
  }

  void Link(const ExaminedNode& node) {
    const std::uint64_t rate = node.view.bytes_per_second;
    Well(node.view.node.name,
         rate == 0 ? "the rate of its link is not measured yet"
                   : fmt::format("its link was seen to carry {} a second", FormatSize(rate)));
  }

  const Examination& found_;
  const std::string& version_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> Diagnose(const Examination& found, const std::string& version) {
  return Diagnoser(found, version).Diagnose();
}

}  // namespace hoplite::cli
