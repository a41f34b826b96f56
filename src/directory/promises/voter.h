// Voter: which life of its shard this member has promised last, and until when (R110 and R111 in
// sim/session_world/README.md).
//
// Decides: whether it promises a life. Is told: questions, and lives that were freed. A claim must be
// above every life that this voter was asked for, and waits until the promise before has ended. The
// holder's own promise is renewed at any time. A life that held must be above the life before it, so
// a late question changes nothing. A claim that was freed never held: then the life before it is
// promised again, else a claim in vain would cost the holder this voter for good. A claimant that dies
// frees nobody: its life may have held, so a lower one lacks this voter as long as it holds.
//
// Must never promise two lives at one time, a life below one that may have held, nor anything within
// a tenure of its start: it keeps no file, and has forgotten what it promised. Pure, O(names).
#pragma once

#include "base/digest.h"
#include "base/time.h"
#include "directory/promises/promise.h"

namespace hoplite::directory {

enum class VoterStart {
  kMute,
  kNewCluster,  // nobody was promised anything yet
};

class Voter {
 public:
  Voter(Duration tenure, VoterStart start, Time now);

  PromiseAnswer Hear(const PromiseAsk& ask, Time now);
  // Its claimant gave up, or its holder has resigned.
  void Free(std::uint64_t life, Time now);

  // From when on another life may be promised.
  Time until() const { return until_; }
  // The newest life that held, as far as this voter knows.
  ShardLife holder() const {
    return promise_.held ? promise_.to : before_.held ? before_.to : ShardLife{};
  }
  void AddTo(Digest& digest, Time now) const;

 private:
  struct Promise {
    ShardLife to = {};
    bool held = false;
    bool over = false;  // it resigned
  };
  bool MayPromise(const PromiseAsk& ask, Time now) const;
  void Keep(const PromiseAsk& ask, Time now);

  Duration kept_for_;
  Time until_;
  Promise promise_;
  Promise before_;             // of the life before a claim, until that life holds
  std::uint64_t highest_ = 0;  // that was asked for
  ShardNames names_;           // of the newest holder
};

}  // namespace hoplite::directory
