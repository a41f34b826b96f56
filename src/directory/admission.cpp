#include "directory/admission.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shard_list.h"

namespace hoplite::directory {

namespace {

Error Refusal(std::string why) { return {ErrorCode::kInvalidArgument, std::move(why)}; }

std::size_t Count(const std::vector<std::string>& shards) {
  return std::max<std::size_t>(shards.size(), 1);
}

}  // namespace

ShardState NextLife(const std::optional<ShardState>& kept, std::uint64_t drawn_id,
                    std::uint64_t clock) {
  if (!kept) return {.id = drawn_id, .incarnation = clock};
  return {.id = kept->id, .incarnation = std::max(clock, kept->incarnation + 1)};
}

Admission::Admission(Settings settings)
    : settings_(std::move(settings)),
      state_(settings_.state),
      witness_(settings_.certain ? "its state file" : "") {}

std::optional<wire::Ended> Admission::Admit(const wire::Hello& hello) {
  if (auto error = CheckForGood(hello)) return wire::Ended{.error = *error, .retry = false};
  ShardState next = state_;
  // As the planner does (R1). Only a shard whose file is new can meet a number above its own.
  if (hello.highest_incarnation > next.incarnation) {
    next.incarnation = hello.highest_incarnation + 1;
  }
  const bool disagrees = Disagrees(hello);
  if (disagrees && !witness_.empty()) {
    return wire::Ended{.error = Refusal(fmt::format(
                           "this directory shard belongs to another cluster: node '{}', with "
                           "objects, knows it by the id {:016x}, {} by {:016x}",
                           hello.node.name, hello.shard_id, witness_, state_.id))};
  }
  if (disagrees) next.id = hello.shard_id;
  if (next != state_ && settings_.keep) {
    if (auto kept = settings_.keep(next); !kept) {
      return wire::Ended{.error = {ErrorCode::kUnavailable, kept.error().message}};
    }
  }
  state_ = next;
  if (disagrees) witness_ = fmt::format("node '{}', with objects,", hello.node.name);
  return std::nullopt;
}

// A node without objects takes the id that it is told. One that knows the id which this shard drew
// may not have heard of the other yet.
bool Admission::Disagrees(const wire::Hello& hello) const {
  const std::uint64_t claim = hello.shard_id;
  return hello.holds && claim != 0 && claim != state_.id && claim != settings_.state.id;
}

std::optional<Error> Admission::CheckForGood(const wire::Hello& hello) const {
  if (hello.protocol != wire::kDirectoryProtocol) {
    return Refusal(
        fmt::format("node '{}' speaks version {} of the directory protocol, this shard {}",
                    hello.node.name, hello.protocol, wire::kDirectoryProtocol));
  }
  if (hello.cluster != settings_.cluster) {
    return Refusal(fmt::format("node '{}' belongs to cluster '{}', this shard to '{}'",
                               hello.node.name, hello.cluster, settings_.cluster));
  }
  if (hello.shard_count != Count(settings_.shards)) {
    return Refusal(fmt::format("node '{}' names {} directory shards, this shard knows {}",
                               hello.node.name, hello.shard_count, Count(settings_.shards)));
  }
  const auto place = PlaceOf(settings_.shards, settings_.address);
  if (place && hello.shard_index != *place) {
    return Refusal(
        fmt::format("node '{}' takes this shard for number {} of the list, it is {} of {}",
                    hello.node.name, hello.shard_index, *place, fmt::join(settings_.shards, ",")));
  }
  return std::nullopt;
}

}  // namespace hoplite::directory
