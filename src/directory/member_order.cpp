#include "directory/member_order.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "directory/away.h"

namespace hoplite::directory {
namespace {

void AddOnce(const std::string& member, std::vector<std::string>& members) {
  if (std::ranges::count(members, member) == 0) members.push_back(member);
}

}  // namespace

MemberOrder::MemberOrder(std::vector<std::string> members)
    : own_(std::move(members)), current_(own_.front()) {}

std::vector<std::string> MemberOrder::Candidates() const {
  std::vector<std::string> candidates;
  if (!holder_.empty()) candidates.push_back(holder_);
  for (const std::string& member : members_) AddOnce(member, candidates);
  for (const std::string& member : own_) AddOnce(member, candidates);
  return candidates;
}

Duration MemberOrder::patience(Duration longest) const {
  return alone() ? longest : std::min(longest, kPatience + kMorePatience * silent_rounds_);
}

void MemberOrder::Take(const protocol::ShardMembers& members) {
  if (members.addresses.empty()) return;
  members_ = members.addresses;
  if (std::ranges::count(members_, holder_) == 0) holder_.clear();
}

void MemberOrder::Answers(const protocol::ShardMembers& members) {
  Take(members);
  holder_ = current_;
}

void MemberOrder::Lasts() {
  lasted_ = true;
  silent_rounds_ = 0;
  last_round_.clear();
}

bool MemberOrder::Fails(std::string_view why) { return GoOn(std::string(CauseOf(why))); }

bool MemberOrder::StandsBy(const protocol::ShardMembers& members) {
  Take(members);
  holder_ = members.holder == current_ ? "" : members.holder;
  return GoOn("");
}

bool MemberOrder::Tried(const std::string& member) const {
  return std::ranges::count(round_, member, &Attempt::member) > 0;
}

bool MemberOrder::BeginRound() {
  round_.clear();
  current_ = Candidates().front();
  return false;
}

bool MemberOrder::GoOn(std::string why) {
  if (std::exchange(lasted_, false) && !alone()) return BeginRound();
  round_.push_back({current_, std::move(why)});
  const std::vector<std::string> candidates = Candidates();
  const auto next = std::ranges::find_if_not(
      candidates, [this](const std::string& member) { return Tried(member); });
  const bool over = next == candidates.end();
  if (over) {
    last_round_ = std::exchange(round_, {});
    if (LastHadSilence()) ++silent_rounds_;
  }
  current_ = over ? candidates.front() : *next;
  return over;
}

std::string MemberOrder::Report() const {
  if (last_round_.empty()) return "";
  std::vector<std::pair<std::string, std::vector<std::string>>> silent;  // by cause
  std::size_t answer = 0;
  for (const auto& [member, why] : last_round_) {
    if (why.empty()) {
      ++answer;
      continue;
    }
    auto cause = std::ranges::find(silent, why, [](const auto& one) { return one.first; });
    if (cause == silent.end()) cause = silent.emplace(cause, why, std::vector<std::string>());
    cause->second.push_back(member == holder_ ? "the holder " + member : member);
  }
  std::string report =
      fmt::format("{} of {} members answer{}", answer, last_round_.size(), answer == 1 ? "s" : "");
  if (silent.empty()) return report + ", and none holds it";
  std::vector<std::string> causes;
  for (const auto& [why, members] : silent) {
    causes.push_back(fmt::format("{}: {}", fmt::join(members, ", "), why));
  }
  return fmt::format("{} ({})", report, fmt::join(causes, "; "));
}

bool MemberOrder::LastHadSilence() const {
  return std::ranges::count(last_round_, kNoAnswer, &Attempt::why) > 0;
}

}  // namespace hoplite::directory
