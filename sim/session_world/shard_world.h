// ShardWorld: a shard of three members, in every order of events. Three real voters, two real tenures,
// two nodes and a register that both nodes write by compare-and-set.
//
// Decides nothing: Steps() says what may happen next, Do() lets one of it happen. Any member may be
// slow at any moment, so a stopped process needs no state of its own. Questions, answers and words of
// the shard wait in queues; those of an older round are answered late, or lost. Time passes in ticks of
// half a tenure, and by a little more than 2 % of it; nodes' clocks are 2 % slower than those of voters.
// Safety is checked after each step; Rest() lets everything happen that is due, without faults, and then
// checks that nobody waits. A value type: the searches copy it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "base/time.h"
#include "directory/promises/tenure.h"
#include "directory/promises/voter.h"

namespace hoplite::sim {

// Each breaks one half of the rules R110-R115, at the edge of a voter, a tenure or a node.
enum class ShardFault : std::uint8_t {
  kNone,
  kOneIsEnough,     // R110: one promise counts as a majority
  kPromisesTwice,   // R110: a voter promises another life before its tenure has passed
  kNoSpare,         // R110: a promise lasts a tenure, and not 2 % more
  kSleepingClock,   // R110, R113: a node's clock does not count suspended time
  kNotMute,         // R111: a started voter promises at once
  kAcksAtOnce,      // R112: a heartbeat is acknowledged without a round
  kAcksOpenRound,   // R112: a round that began before the heartbeat came is enough
  kWelcomesAtOnce,  // R112: Welcome follows no round
  kCountsAnyRound,  // R112: promises of another round count
  kNoFence,         // R113: a node takes words however old its heartbeat is
  kFromAnswer,      // R113: a tenure is counted from the acknowledgement
  kAnyLife,         // R114: a claimant takes its clock, whatever voters name
  kDeafToHello,     // R114: a life may be below one that a node knows
  kFreesNobody,     // R114: a claimant gives up without a word
  kNoNames,         // R115: a promise names no nodes
  kOpensAtOnce,     // R115: a successor waits for no node
  kNamesItsOwn,     // R115: a successor does not name those that it waits for
  kTrustsStarted,   // R115: the names of a voter that started lately count as complete
};

struct ShardOptions {
  std::uint32_t ticks = 4;
  std::uint32_t claims = 2;
  std::uint32_t crashes = 0;         // of a member with a tenure
  std::uint32_t voter_restarts = 0;  // of the third
  std::uint32_t clock_backs = 0;
  std::uint32_t breaks = 0;  // of sessions
  std::uint32_t cuts = 0;    // of a member from the other members, but not from nodes
  bool writes = false;       // else the holder says words that bind, and nobody writes
  ShardFault fault = ShardFault::kNone;
};

class ShardWorld;

struct ShardStep {
  std::string_view name;
  void (ShardWorld::*take)(std::uint32_t who);
  std::uint32_t who = 0;
};

class ShardWorld {
 public:
  explicit ShardWorld(const ShardOptions& options);

  // What may happen next.
  std::vector<ShardStep> Steps() const;
  // Lets it happen.
  void Do(const ShardStep& step);
  // Whether a search should take this step seldom: time and faults.
  static bool IsRare(const ShardStep& step);
  // No more faults, and everything that is due happens: then nobody may wait.
  void Rest();
  // The first property that broke.
  const std::string& violation() const { return violation_; }
  // Knows a state again.
  std::uint64_t Fingerprint() const;

 private:
  static constexpr std::uint32_t kVoters = 3;
  static constexpr std::uint32_t kNodes = 2;
  static constexpr std::uint32_t kProcesses = 2;  // members with a tenure; the third only votes
  static constexpr std::size_t kMostWaiting = 2;  // questions or answers between two members
  static constexpr Duration kTenure = std::chrono::seconds(2);
  static constexpr Duration kTick = kTenure / 2;
  static constexpr Duration kSpare = kTenure / 50 + std::chrono::milliseconds(1);

  using Chain = std::string;  // attempts in the order in which they were done
  using Number = Stamp;

  struct Question {
    std::optional<directory::PromiseAsk> ask = {};
    std::uint64_t free = 0;
  };
  enum class Kind : std::uint8_t { kWelcome, kAck, kWord, kNews, kWritten, kRefused };
  struct Word {
    Kind kind = Kind::kWord;
    Number number = {};
    Chain chain = {};
    Time vouches{};  // when what it acknowledges left
  };
  // Something of a node that waits for a round of the holder.
  struct Waiting {
    std::uint64_t begun = 0;  // rounds, when it came
    Time left{};
  };
  struct Write {
    Number expected = {};
    std::uint32_t attempt = 0;
  };
  // What a member knows of a node while it holds.
  struct Guest {
    bool open = false;
    bool told = false;
    std::optional<Waiting> hello = {};
    std::optional<Waiting> beat = {};
    std::optional<Write> write = {};
    Number heard = {};  // the newest that it was sent
  };
  struct Process {
    bool dead = false;
    bool cut = false;
    directory::Tenure tenure;
    std::uint32_t holding = 0;  // the how many-th of the shard; 0: it does not hold
    std::array<Guest, kNodes> guests{};
    Number number = {};
    Chain chain = {};
    std::uint64_t given = 0;  // numbers of this life
    std::array<std::deque<Question>, kVoters> questions{};
    std::array<std::deque<directory::PromiseAnswer>, kVoters> answers{};
  };
  struct Node {
    std::optional<std::uint32_t> process;  // of its session
    std::uint32_t holding = 0;
    bool open = false;  // Welcome came
    bool beats = false;
    bool told = false;
    Time vouched{};
    std::deque<Word> words;
    Number number;
    Chain chain;
    std::uint64_t highest = 0;  // life that it has heard of
    enum class Call : std::uint8_t { kNone, kOpen, kDone, kRefused } call = Call::kNone;
    bool asked = false;  // in this session
    Write write;
  };

  static NodeId IdOf(std::uint32_t node) { return NodeId{node + 1}; }
  bool Faulty(ShardFault fault) const { return options_.fault == fault; }
  void Fail(const std::string& what) { violation_ = violation_.empty() ? what : violation_; }
  std::uint32_t Member(std::uint32_t process) const { return process; }

  // Members (shard_world.cpp).
  void AddMembers(std::vector<ShardStep>& steps) const;
  void AddTime(std::vector<ShardStep>& steps) const;
  void AddFaults(std::vector<ShardStep>& steps) const;
  static Duration KeptBy(ShardFault fault);
  directory::Voter NewVoter() const;
  directory::Tenure NewTenure(std::uint32_t process) const;
  bool TurnIsDue(std::uint32_t process) const;
  Time FreeSince(std::uint32_t process) const;  // its own voter promises nobody
  void Turn(std::uint32_t process);
  void Send(std::uint32_t process, const directory::Tenure::Say& say);
  void Spoil(const Process& process, directory::PromiseAsk& ask) const;
  void HearQuestion(std::uint32_t pair);
  void HearAnswer(std::uint32_t pair);
  void NoteStanding(std::uint32_t process);
  bool Holds(std::uint32_t process) const { return processes_[process].holding != 0; }
  void Tick(std::uint32_t) { Pass(kTick, true); }
  void Suspend(std::uint32_t) { Pass(kTick, false); }
  void TickALittle(std::uint32_t) { Pass(kSpare, true); }
  void Pass(Duration time, bool by_nodes_clocks);
  void Crash(std::uint32_t process);
  void Cut(std::uint32_t process);
  void StartAgain(std::uint32_t process);
  void RestartVoter(std::uint32_t);
  void SetClockBack(std::uint32_t);

  // Nodes and sessions (shard_world_nodes.cpp).
  void AddNode(std::vector<ShardStep>& steps, std::uint32_t node) const;
  void AddGuest(std::vector<ShardStep>& steps, std::uint32_t pair) const;
  bool InSession(std::uint32_t node) const;  // at both ends
  bool Believes(std::uint32_t node) const {
    return Faulty(ShardFault::kNoFence) || node_now_ - nodes_[node].vouched < kTenure;
  }
  Guest& GuestOf(std::uint32_t node) { return processes_[*nodes_[node].process].guests[node]; }
  bool Covers(const Process& process, const Waiting& waiting, bool at_once) const;
  void Say(std::uint32_t node, Word word) { nodes_[node].words.push_back(std::move(word)); }
  void Greet(std::uint32_t pair);
  void Welcome(std::uint32_t pair);
  void Beat(std::uint32_t node);
  void Acknowledge(std::uint32_t pair);
  void Tell(std::uint32_t node);
  void CallWrite(std::uint32_t node);
  void AskWrite(std::uint32_t node);
  void Answer(std::uint32_t pair);
  void SayNews(std::uint32_t pair);
  void SayWord(std::uint32_t pair);
  void Take(std::uint32_t node);
  void TakeEntry(std::uint32_t node, const Word& word);
  void End(std::uint32_t node);
  void Break(std::uint32_t node);
  bool SpeaksOfRegister(const Process& process) const;
  void NoteNumber(Number number, const Chain& chain);
  void CheckRegister(const Process& process);
  bool DoOneThatIsDue();
  void CheckAtRest();

  ShardOptions options_;
  Time now_ = Time(std::chrono::hours(1));       // by the members' clocks
  Time node_now_ = Time(std::chrono::hours(1));  // by the nodes'
  std::uint64_t clock_ = 1000;                   // of lives
  std::vector<directory::Voter> voters_;
  std::vector<Process> processes_;
  std::array<Node, kNodes> nodes_;
  std::uint32_t holdings_ = 0;
  std::uint32_t spoke_ = 0;  // the newest holding of which a node took a word
  std::map<Number, Chain> values_;
  std::string acknowledged_;  // attempts
  Number acknowledged_number_;
  bool resting_ = false;
  bool forgetful_ = false;  // a fault other than slowness: a claim may be left that nobody frees
  std::string violation_;
};

// What a search found, or that it found nothing.
struct ShardResult {
  std::uint64_t states = 0;  // or steps, of walks
  bool exhausted = false;
  std::string violation = {};
  std::string path = {};  // the steps that led to it
};
// Breadth first: every state, or so many.
ShardResult SearchShards(const ShardOptions& options, std::uint64_t most_states);
// Histories of chance, of so many steps each; each ends at rest.
ShardResult WalkShards(const ShardOptions& options, std::uint64_t walks, std::uint32_t length,
                       std::uint64_t seed);

}  // namespace hoplite::sim
