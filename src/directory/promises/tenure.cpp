#include "directory/promises/tenure.h"

#include <algorithm>

#include "base/digest_fields.h"

namespace hoplite::directory {

Tenure::Say Tenure::Turn(Time now, Time free_since, std::uint64_t clock) {
  if (now < next(free_since)) return {};
  switch (state_) {
    case State::kStandsBy:
      return Claim(now, clock);
    case State::kClaims:
      return GiveUp(now);
    case State::kHolds:
      break;
  }
  if (now - kept_since_ < KeptFor(settings_.tenure)) return BeginRound(now);
  StandBy(now);
  return {};
}

Time Tenure::next(Time free_since) const {
  if (state_ == State::kStandsBy) {
    return std::max(try_at_, free_since + settings_.place * settings_.turn);
  }
  const bool open = kept_ < round_;
  if (open) return asked_at_ + (claims() ? ClaimLimit() : Limit());
  return hurry_ ? asked_at_ : asked_at_ + settings_.pause;
}

// Short, since a claim keeps voters from others; longer where answers may need more time.
Duration Tenure::ClaimLimit() const {
  return std::min(settings_.turn * (1 << std::min(unanswered_, 8U)), Limit());
}

// Each member has lives of its own, so that no two members take the same one.
std::uint64_t Tenure::NewLife(std::uint64_t clock) const {
  const std::uint64_t least = std::max(clock, highest_ + 1);
  const std::uint64_t own = least - least % settings_.members + settings_.place;
  return own < least ? own + settings_.members : own;
}

Tenure::Say Tenure::Claim(Time now, std::uint64_t clock) {
  state_ = State::kClaims;
  life_ = highest_ = NewLife(clock);
  names_ = {};
  awaited_.clear();
  greeted_.clear();
  complete_ = 0;
  names_life_ = 0;
  return BeginRound(now);
}

Tenure::Say Tenure::BeginRound(Time now) {
  ++round_;
  asked_at_ = now;
  hurry_ = false;
  promised_.clear();
  refused_.clear();
  return {.ask = PromiseAsk{.wants = {.life = life_, .member = settings_.place},
                            .round = round_,
                            .holds = holds(),
                            .names = holds() ? names_ : ShardNames{}}};
}

// A member waits longer than two claims of the one before it take, so that they do not meet for ever.
Tenure::Say Tenure::GiveUp(Time now) {
  const std::uint64_t given_up = life_;
  unanswered_ = refused_.empty() ? unanswered_ + 1 : 0;
  StandBy(now + (4 * settings_.place + 1) * settings_.turn);
  return {.free = given_up};
}

void Tenure::StandBy(Time try_at) {
  state_ = State::kStandsBy;
  life_ = 0;
  try_at_ = try_at;
}

Tenure::Say Tenure::Hear(MemberPlace voter, const PromiseAnswer& answer, Time now) {
  highest_ = std::max({highest_, answer.highest, answer.holder.life});
  if (state_ == State::kStandsBy || voter >= settings_.members) return {};
  if (answer.holder.life > life_) {
    if (claims()) return GiveUp(now);
    StandBy(now);
    return {};
  }
  if (answer.life == life_ && answer.round == round_) Count(voter, answer);
  const bool in_vain = refused_.size() > settings_.members - Majority();
  return claims() && in_vain ? GiveUp(now) : Say{};
}

void Tenure::Count(MemberPlace voter, const PromiseAnswer& answer) {
  if (!answer.promised) {
    refused_.insert(voter);
    return;
  }
  if (!promised_.insert(voter).second || kept_ == round_) return;
  if (claims()) Inherit(answer);
  if (promised_.size() >= Majority()) Keep();
}

void Tenure::Inherit(const PromiseAnswer& answer) {
  names_.nodes.insert(answer.names.nodes.begin(), answer.names.nodes.end());
  complete_ += answer.names.complete ? 1 : 0;
  if (answer.names.shard_id == 0 || answer.holder.life < names_life_) return;
  names_.shard_id = answer.names.shard_id;
  names_life_ = answer.holder.life;
}

// The first round of a holder follows at once: voters learn that this life held.
void Tenure::Keep() {
  kept_ = round_;
  kept_since_ = asked_at_;
  if (holds()) return;
  state_ = State::kHolds;
  names_.complete = complete_ >= Majority();
  awaited_ = names_.nodes;
  hurry_ = true;
}

// A node may have met a life of this number that all voters have forgotten: then it knows numbers of
// it, and this life has not greeted the node. Where nobody was greeted, nobody believes this life, so
// the voters are free at once.
bool Tenure::Greet(NodeId node, std::uint64_t highest, Time now, Say& say) {
  if (highest > life_ || (highest == life_ && !greeted_.contains(node))) {
    highest_ = std::max(highest_, highest);
    if (greeted_.empty()) say.free = life_;
    StandBy(now);
    return false;
  }
  greeted_.insert(node);
  names_.nodes.insert(node);
  hurry_ = true;
  return true;
}

void Tenure::Lose(NodeId node) {
  names_.nodes.erase(node);
  awaited_.erase(node);
}

void Tenure::AddTo(Digest& digest, Time now) const {
  digest.Add(state_)
      .Add(life_)
      .Add(highest_)
      .Add(round_ - kept_)
      .Add(hurry_)
      .Add(complete_)
      .Add(unanswered_);
  digest.Add(std::min(now - asked_at_, KeptFor(settings_.tenure)));
  digest.Add(std::min(now - kept_since_, KeptFor(settings_.tenure)));
  digest.Add(std::max(try_at_ - now, Duration{0}));
  AddFields(digest, promised_);
  AddFields(digest, refused_);
  AddFields(digest, names_);
  AddFields(digest, awaited_);
  AddFields(digest, greeted_);
}

}  // namespace hoplite::directory
