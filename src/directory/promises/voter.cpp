#include "directory/promises/voter.h"

#include <algorithm>
#include <utility>

#include "base/digest_fields.h"

namespace hoplite::directory {

Voter::Voter(Duration tenure, VoterStart start, Time now)
    : kept_for_(KeptFor(tenure)), until_(start == VoterStart::kMute ? now + kept_for_ : now) {}

PromiseAnswer Voter::Hear(const PromiseAsk& ask, Time now) {
  PromiseAnswer answer{
      .life = ask.wants.life, .round = ask.round, .promised = MayPromise(ask, now)};
  if (answer.promised && !ask.holds) answer.names = names_;
  if (answer.promised) Keep(ask, now);
  highest_ = std::max(highest_, ask.wants.life);
  answer.highest = highest_;
  answer.holder = holder();
  return answer;
}

bool Voter::MayPromise(const PromiseAsk& ask, Time now) const {
  const bool renews = ask.holds && ask.wants.life == promise_.to.life;
  if (renews) return ask.wants == promise_.to && !promise_.over;
  return now >= until_ && ask.wants.life > (ask.holds ? promise_.to.life : highest_);
}

void Voter::Keep(const PromiseAsk& ask, Time now) {
  until_ = now + kept_for_;
  if (!ask.holds) {
    before_ = std::exchange(promise_, {.to = ask.wants});
    return;
  }
  promise_ = {.to = ask.wants, .held = true};
  before_ = {};
  names_ = ask.names;
}

// A question for this life may still be under way: it comes too late.
void Voter::Free(std::uint64_t life, Time now) {
  highest_ = std::max(highest_, life);
  if (life == 0 || life != promise_.to.life) return;
  until_ = now;
  if (promise_.held) {
    promise_.over = true;
  } else {
    promise_ = std::exchange(before_, {});
  }
}

void Voter::AddTo(Digest& digest, Time now) const {
  digest.Add(std::max(until_ - now, Duration{0})).Add(highest_);
  AddFields(digest, promise_);
  AddFields(digest, before_);
  AddFields(digest, names_);
}

}  // namespace hoplite::directory
