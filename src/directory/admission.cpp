#include "directory/admission.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hoplite::directory {

namespace {

Error Refusal(std::string why) { return {ErrorCode::kInvalidArgument, std::move(why)}; }

// The id by which the node knows this shard; 0: none yet.
std::uint64_t OwnClaim(const wire::Hello& hello) {
  const auto& shards = hello.claims.shards;
  return hello.shard_index < shards.size() ? shards[hello.shard_index] : 0;
}

bool HoldsAny(const wire::Claims& claims) { return claims.holds != wire::Holds::kNone; }

}  // namespace

Admission::Admission(Settings settings) : settings_(std::move(settings)), id_(settings_.drawn_id) {
  const auto own = std::ranges::find(settings_.shards, settings_.address);
  if (own != settings_.shards.end()) {
    own_index_ = static_cast<std::size_t>(own - settings_.shards.begin());
  }
}

Admission::Sureness Admission::Of(const wire::Claims& claims) {
  switch (claims.holds) {
    case wire::Holds::kNone:
      return Sureness::kTold;
    case wire::Holds::kOfOthers:
      return Sureness::kToldHolder;
    case wire::Holds::kOfThisShard:
      return Sureness::kHeld;
  }
  return Sureness::kTold;
}

std::optional<wire::Ended> Admission::Check(const wire::Hello& hello) const {
  if (auto error = CheckForGood(hello)) return wire::Ended{.error = *error, .retry = false};
  // The others are told of the new id before all claims are compared.
  if (TakesOver(hello)) return std::nullopt;
  if (auto error = CheckOwnId(hello)) return wire::Ended{.error = *error};
  if (auto error = CheckOtherIds(hello)) return wire::Ended{.error = *error};
  return std::nullopt;
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
  if (hello.shard_count != count()) {
    return Refusal(fmt::format("node '{}' names {} directory shards, this shard knows {}",
                               hello.node.name, hello.shard_count, count()));
  }
  if (own_index_ && hello.shard_index != *own_index_) {
    return Refusal(fmt::format(
        "node '{}' takes this shard for number {} of the list, it is {} of {}", hello.node.name,
        hello.shard_index, *own_index_, fmt::join(settings_.shards, ",")));
  }
  return std::nullopt;
}

std::optional<Error> Admission::CheckOwnId(const wire::Hello& hello) const {
  const std::uint64_t claim = OwnClaim(hello);
  const bool own = claim == 0 || claim == id_ || claim == settings_.drawn_id;
  if (own || hello.claims.holds != wire::Holds::kOfThisShard) return std::nullopt;
  return Refusal(
      fmt::format("this directory shard belongs to another cluster: node '{}', with objects, knows "
                  "it by the id {:016x}, node '{}', with objects, by {:016x}",
                  hello.node.name, claim, Backer()->name, id_));
}

std::optional<Error> Admission::CheckOtherIds(const wire::Hello& hello) const {
  Known known;
  for (const auto& [node, member] : ByWeight()) {
    const bool outweighed = HoldsAny(hello.claims) && !HoldsAny(member->claims);
    if (node != hello.node.id && !outweighed) Learn(*member, known);
  }
  return Contradiction(NewMember(hello), known);
}

bool Admission::TakesOver(const wire::Hello& hello) const {
  const std::uint64_t claim = OwnClaim(hello);
  if (claim == 0 || claim == id_ || claim == settings_.drawn_id) return false;
  const Sureness sureness = Of(hello.claims);
  return sureness > taken_ || (sureness == Sureness::kHeld && Backer() == nullptr);
}

const Admission::Member* Admission::Backer() const {
  const auto found = std::ranges::find_if(members_, [this](const auto& one) {
    const Member& member = one.second;
    return Of(member.claims) == Sureness::kHeld && member.claims.shards[member.place] == id_;
  });
  return found == members_.end() ? nullptr : &found->second;
}

bool Admission::Joined(const wire::Hello& hello, Time now) {
  const std::uint64_t claim = OwnClaim(hello);
  const bool renamed = TakesOver(hello);
  if (renamed) id_ = claim;
  // That a node knows the id which this shard drew proves nothing: newcomers were told it, too.
  if (claim == id_ && id_ != settings_.drawn_id) {
    taken_ = std::max(taken_, Of(hello.claims));
  }
  Member member = NewMember(hello);
  const auto known = members_.find(hello.node.id);
  member.order = known == members_.end() ? ++joined_ : known->second.order;
  members_[hello.node.id] = std::move(member);
  for (auto& [node, one] : members_) {
    if (one.open) one.claims.shards[one.place] = id_;
  }
  LookLater(now);
  return renamed;
}

void Admission::Claimed(NodeId node, wire::Claims claims, Time now) {
  const auto found = members_.find(node);
  if (found == members_.end()) return;
  Member& member = found->second;
  claims.shards.resize(count());
  claims.shards[member.place] = id_;
  member.claims = std::move(claims);
  LookLater(now);
}

void Admission::Ended(NodeId node) {
  const auto found = members_.find(node);
  if (found != members_.end()) found->second.open = false;
}

void Admission::Gone(NodeId node) { members_.erase(node); }

std::vector<std::pair<NodeId, Error>> Admission::Contradicting(Time now) {
  std::vector<std::pair<NodeId, Error>> found;
  if (now < look_at_) return found;
  look_at_ = kNever;
  Known known;
  for (const auto& [node, member] : ByWeight()) {
    if (auto error = Contradiction(*member, known)) {
      found.emplace_back(node, *std::move(error));
    } else {
      Learn(*member, known);
    }
  }
  return found;
}

std::vector<std::pair<NodeId, const Admission::Member*>> Admission::ByWeight() const {
  std::vector<std::pair<NodeId, const Member*>> members;
  for (const auto& [node, member] : members_) {
    if (member.open) members.emplace_back(node, &member);
  }
  std::ranges::sort(members, {}, [](const auto& one) {
    return std::tuple(!HoldsAny(one.second->claims), one.second->order);
  });
  return members;
}

Admission::Member Admission::NewMember(const wire::Hello& hello) const {
  Member member{.name = hello.node.name, .place = hello.shard_index, .claims = hello.claims};
  member.claims.shards.resize(count());
  member.claims.shards[member.place] = id_;
  return member;
}

std::optional<Error> Admission::Contradiction(const Member& member, const Known& known) {
  for (const auto& [shard, other] : known) {
    const std::uint64_t id = member.claims.shards[shard];
    if (id == 0 || id == other.first) continue;
    return Refusal(
        fmt::format("shards of two clusters are mixed: node '{}' knows directory shard {} by the "
                    "id {:016x}, node '{}' by {:016x}",
                    member.name, shard, id, other.second->name, other.first));
  }
  return std::nullopt;
}

void Admission::Learn(const Member& member, Known& known) {
  for (std::size_t shard = 0; shard < member.claims.shards.size(); ++shard) {
    const std::uint64_t id = member.claims.shards[shard];
    if (id != 0) known.try_emplace(shard, id, &member);
  }
}

void Admission::LookLater(Time now) {
  if (count() > 1) look_at_ = std::min(look_at_, now + settings_.patience);
}

}  // namespace hoplite::directory
