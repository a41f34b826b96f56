// MemberOrder: which member of a shard is tried next, by a session or a question.
//
// Decides: the order. A round tries each member once: the holder that was heard of last, then the
// others as they are listed. What ended after it had lasted begins a round. A member that names the holder sends the round there next, if it was
// not there yet: members that name each other end a round, as silence does. Is told: how each
// attempt ended. Knows no time. Must never try a member twice in a round, nor forget the addresses
// that it began with: those that members name may be of no use from here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "net/resolve.h"
#include "protocol/views.h"

namespace hoplite::directory {

class MemberOrder {
 public:
  // An attempt that is silent for so long makes room for the next one.
  static constexpr Duration kPatience = net::kAddressPatience;
  static constexpr Duration kMorePatience = std::chrono::milliseconds(100);

  // Of one shard, as people write them (base/shard_list.h); not empty.
  explicit MemberOrder(std::vector<std::string> members);

  const std::string& current() const { return current_; }
  // Whether there is nobody else.
  bool alone() const { return Candidates().size() == 1; }
  // How long the attempt may be silent; `longest` where there is nobody else. It grows with each round
  // that had a silent one: a holder that is slow must not be given up for ever.
  Duration patience(Duration longest) const;

  // The current member answers as the holder: it is the first of the next rounds. It may name others.
  void Answers(const protocol::ShardMembers& members);
  // It lasts.
  void Lasts();
  // The current one does not answer as the holder, or no more. True: the round is over.
  bool Fails(std::string_view why);
  bool StandsBy(const protocol::ShardMembers& members);

  // Of the last round, of several: "1 of 3 members answers (H2:7000, H3:7000: Connection refused)";
  // empty: it had none, or the holder answered since.
  std::string Report() const;
  // Whether an attempt of the last round ended by silence: with more patience it may answer.
  bool LastHadSilence() const;

 private:
  struct Attempt {
    std::string member;
    std::string why;  // empty: it answered that it stands by
  };

  std::vector<std::string> Candidates() const;
  void Take(const protocol::ShardMembers& members);
  bool GoOn(std::string why);
  bool BeginRound();
  bool Tried(const std::string& member) const;

  const std::vector<std::string> own_;
  std::vector<std::string> members_;  // as the members name them, if they did
  std::string holder_;                // heard of last; empty: of none
  std::string current_;
  std::vector<Attempt> round_;
  std::vector<Attempt> last_round_;
  std::int64_t silent_rounds_ = 0;
  bool lasted_ = false;
};

}  // namespace hoplite::directory
