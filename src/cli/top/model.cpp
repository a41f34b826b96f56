#include "cli/top/model.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/output.h"
#include "client/pictures.h"

namespace hoplite::cli::top {
namespace {

constexpr std::size_t kNamedOfOneVersion = 3;

// Smaller for an object with which more goes on.
std::size_t Less(const ObjectRow& row) {
  const ObjectInfo& object = row.object;
  const std::size_t parts = object.transfers.size() + object.slots.size() + object.waiters.size();
  return std::numeric_limits<std::size_t>::max() - parts;
}

bool Answers(const ShardLook& shard) { return shard.away.empty() && shard.at != Time{}; }

std::string Seconds(Duration passed) {
  return fmt::format("{} s", std::chrono::floor<std::chrono::seconds>(passed).count());
}

std::uint64_t PerSecond(std::uint64_t now, std::uint64_t before, std::uint64_t microseconds) {
  const auto came = static_cast<double>(now - std::min(now, before));
  return static_cast<std::uint64_t>(came * 1e6 / static_cast<double>(microseconds));
}

std::string ShardText(std::size_t shard, std::size_t shards) {
  return shards == 1 ? "the directory" : fmt::format("shard {}", shard);
}

// As long as the columns of rates are.
std::string NoSession(std::size_t shard, std::size_t shards) {
  return shards == 1 ? "no session" : fmt::format("no session: shard {}", shard);
}

}  // namespace

void Model::Look(Time now, const std::vector<ShardLook>& shards) {
  picture_ = {};
  rates_.resize(shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const ShardLook& shard = shards[i];
    if (!shard.away.empty()) picture_.remarks.push_back(shard.away);
    if (Answers(shard) && !shard.members.holder.empty()) {
      picture_.remarks.push_back(fmt::format(
          "shard {}: {}", i, MembersInWords(client::ToShardStatus({.members = shard.members}))));
    }
    if (Answers(shard) && !shard.all) {
      picture_.remarks.push_back(fmt::format(
          "{}: not everything under way is shown: it is too much", ShardText(i, shards.size())));
    }
  }
  FillRows(LookAtNodes(now, shards), now);
  CompareVersions(shards);
  LookAtObjects(shards);
  CountStreams();
}

// Every node has a session with every shard, and tells each of them the same.
Model::Nodes Model::LookAtNodes(Time now, const std::vector<ShardLook>& shards) {
  if (std::ranges::none_of(shards, Answers)) {
    for (auto& [id, row] : last_) row.trouble = "not known";
    return last_;
  }
  Nodes nodes;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (!Answers(shards[i])) continue;
    for (const protocol::NodeView& node : shards[i].nodes) {
      NodeRow& row = nodes[node.node.id];
      row.name = node.node.name;
      row.address = node.node.address;
      if (!node.alive) row.trouble = NoSession(i, shards.size());
      NoteUsage(node.node.id, node.usage, now);
    }
  }
  NoteLosses(nodes, now);
  last_ = nodes;
  return nodes;
}

// Rates go by the node's own clock: neither when it told nor when somebody looked is regular.
void Model::NoteUsage(NodeId node, const protocol::StoreUsage& usage, Time now) {
  const auto [known, added] = seen_.try_emplace(node, Seen{.usage = usage, .told = now});
  Seen& seen = known->second;
  if (added || usage.told_at_us <= seen.usage.told_at_us) return;
  // What it told before its first second, or at the start of a session, is of no use for rates.
  if (seen.usage.told_at_us > 0) {
    const std::uint64_t passed = usage.told_at_us - seen.usage.told_at_us;
    seen.in_rate = PerSecond(usage.received_bytes, seen.usage.received_bytes, passed);
    seen.out_rate = PerSecond(usage.sent_bytes, seen.usage.sent_bytes, passed);
    seen.processors = ToSeconds(usage.process.processor_time - seen.usage.process.processor_time) *
                      1e6 / static_cast<double>(passed);
  }
  seen.usage = usage;
  seen.told = now;
}

void Model::NoteLosses(const Nodes& nodes, Time now) {
  for (const auto& [id, row] : last_) {
    if (nodes.contains(id)) continue;
    lost_[row.name] = {row, now};
    seen_.erase(id);
  }
  for (const auto& [id, row] : nodes) lost_.erase(row.name);  // it is there again
  std::erase_if(lost_, [&](const auto& one) { return now - one.second.when > kRemembered; });
}

void Model::FillRows(Nodes nodes, Time now) {
  for (auto& [id, row] : nodes) {
    const Seen& seen = seen_.at(id);
    if (row.trouble.empty() && now - seen.told > kSilent) {
      row.trouble = "silent for " + Seconds(now - seen.told);
    }
    row.used_bytes = seen.usage.used_bytes;
    row.memory_bytes = seen.usage.memory_bytes;
    row.process = seen.usage.process;
    if (row.trouble.empty()) {
      row.in_rate = seen.in_rate;
      row.out_rate = seen.out_rate;
      row.processors = seen.processors;
    }
    picture_.nodes.push_back(std::move(row));
  }
  for (const auto& [name, lost] : lost_) {
    NodeRow row{.name = name, .address = lost.row.address};
    row.trouble = fmt::format("lost {} ago", Seconds(now - lost.when));
    picture_.nodes.push_back(std::move(row));
  }
  std::ranges::sort(picture_.nodes, {}, &NodeRow::name);
}

// All members of a cluster are to be of one version.
void Model::CompareVersions(const std::vector<ShardLook>& shards) {
  std::map<std::string, std::vector<std::string>> members;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (!Answers(shards[i])) continue;
    members[shards[i].process.version].push_back(ShardText(i, shards.size()));
  }
  for (const NodeRow& row : picture_.nodes) members[row.process.version].push_back(row.name);
  members.erase("");  // who did not tell
  if (members.size() < 2) return;
  std::string words = "members are of different versions";
  for (const auto& [version, names] : members) {
    words += fmt::format("; {}: {}", version, NameSome(names, kNamedOfOneVersion));
  }
  picture_.remarks.push_back(std::move(words));
}

void Model::LookAtObjects(const std::vector<ShardLook>& shards) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const ShardLook& shard = shards[i];
    if (!Answers(shard)) continue;
    picture_.object_count += shard.object_count;
    ClusterStatus status;
    for (const auto& view : shard.objects) status.objects.push_back(client::ToObjectInfo(view));
    if (rates_[i].at != shard.at) rates_[i].rates.Look(status, shard.at);
    rates_[i].at = shard.at;
    for (const auto& view : shard.objects) {
      picture_.objects.push_back(RowOf(view, rates_[i].rates));
    }
    if (!shard.followed) continue;
    if (*shard.followed) {
      picture_.followed.emplace(RowOf(**shard.followed, rates_[i].rates));
    } else {
      picture_.followed.emplace(std::unexpected(shard.followed->error()));
    }
  }
  // Nodes tell all shards what they wait for, of which the object's own shard knows more.
  auto& rows = picture_.objects;
  std::ranges::sort(rows, {}, [](const ObjectRow& row) {
    return std::tuple(row.object.id, row.object.version.empty(), Less(row));
  });
  const auto same =
      std::ranges::unique(rows, {}, [](const ObjectRow& row) { return row.object.id; });
  rows.erase(same.begin(), same.end());
  // Those with most going on first.
  std::ranges::sort(rows, {},
                    [](const ObjectRow& row) { return std::pair(Less(row), row.object.id); });
  picture_.object_count = std::max<std::uint64_t>(picture_.object_count, rows.size());
}

ObjectRow Model::RowOf(const protocol::ObjectView& view, const TransferRates& rates) const {
  ObjectRow row{client::ToObjectInfo(view), {}};
  for (const TransferInfo& transfer : row.object.transfers) {
    row.rates.push_back(rates.BytesPerSecond(transfer));
  }
  return row;
}

void Model::CountStreams() {
  std::map<std::string_view, std::set<ObjectId>> fetched;
  std::map<std::string_view, std::set<ObjectId>> waited;
  for (const ObjectRow& row : picture_.objects) {
    for (const auto& transfer : row.object.transfers) fetched[transfer.to].insert(row.object.id);
    for (const auto& waiter : row.object.waiters) waited[waiter.node].insert(row.object.id);
  }
  for (NodeRow& row : picture_.nodes) {
    const auto& fetches = fetched[row.name];
    const auto comes = [&](const ObjectId& object) { return fetches.contains(object); };
    row.fetches = fetches.size();
    row.waits = waited[row.name].size() -
                static_cast<std::size_t>(std::ranges::count_if(waited[row.name], comes));
  }
}

bool Model::lacks_rates() const {
  return std::ranges::any_of(
      picture_.nodes, [](const NodeRow& row) { return row.trouble.empty() && !row.in_rate; });
}

}  // namespace hoplite::cli::top
