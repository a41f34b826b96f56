// The members of a shard: questions, answers, time and faults.
#include "sim/session_world/shard_world.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/digest_fields.h"

namespace hoplite::sim {

using directory::PromiseAnswer;
using directory::PromiseAsk;
using directory::Tenure;
using directory::Voter;
using directory::VoterStart;

// The second member of the list holds the shard, so that its successor claims as soon as it may.
ShardWorld::ShardWorld(const ShardOptions& options) : options_({.claims = 1}) {
  const Duration kept = KeptBy(options.fault);
  for (std::uint32_t i = 0; i < kVoters; ++i) {
    voters_.emplace_back(kept, VoterStart::kNewCluster, now_);
  }
  for (std::uint32_t i = 0; i < kProcesses; ++i) processes_.push_back({.tenure = NewTenure(i)});
  Pass(kTick, true);
  Turn(1);
  for (std::uint32_t voter = 0; voter < kVoters; ++voter) HearQuestion(kVoters + voter);
  Rest();
  resting_ = false;
  options_ = options;
}

Duration ShardWorld::KeptBy(ShardFault fault) {
  return fault == ShardFault::kNoSpare ? kTenure - kTenure / 51 : kTenure;
}

Voter ShardWorld::NewVoter() const {
  const bool mute = !Faulty(ShardFault::kNotMute);
  return {KeptBy(options_.fault), mute ? VoterStart::kMute : VoterStart::kNewCluster, now_};
}

Tenure ShardWorld::NewTenure(std::uint32_t process) const {
  return Tenure({.members = kVoters, .place = Member(process), .tenure = kTenure});
}

std::vector<ShardStep> ShardWorld::Steps() const {
  std::vector<ShardStep> steps;
  AddMembers(steps);
  for (std::uint32_t node = 0; node < kNodes; ++node) AddNode(steps, node);
  for (std::uint32_t pair = 0; pair < kProcesses * kNodes; ++pair) AddGuest(steps, pair);
  AddTime(steps);
  AddFaults(steps);
  return steps;
}

void ShardWorld::Do(const ShardStep& step) { (this->*step.take)(step.who); }

bool ShardWorld::IsRare(const ShardStep& step) { return step.name[0] == '*'; }

void ShardWorld::AddMembers(std::vector<ShardStep>& steps) const {
  using World = ShardWorld;
  for (std::uint32_t i = 0; i < kProcesses; ++i) {
    const Process& process = processes_[i];
    for (std::uint32_t v = 0; v < kVoters; ++v) {
      const std::uint32_t pair = i * kVoters + v;
      if (!process.questions[v].empty()) {
        steps.push_back({"a voter hears", &World::HearQuestion, pair});
      }
      if (!process.answers[v].empty()) {
        steps.push_back({"a member hears an answer", &World::HearAnswer, pair});
      }
    }
    if (TurnIsDue(i)) steps.push_back({"a member's turn", &World::Turn, i});
  }
}

// A round of a holder begins where somebody waits for it, or where time has passed since the last.
bool ShardWorld::TurnIsDue(std::uint32_t i) const {
  const Process& process = processes_[i];
  if (process.dead) return false;
  const bool may_claim =
      process.tenure.holds() || process.tenure.claims() || resting_ || options_.claims > 0;
  return may_claim && process.tenure.next(FreeSince(i)) <= now_;
}

void ShardWorld::AddTime(std::vector<ShardStep>& steps) const {
  if (resting_ || options_.ticks == 0) return;
  steps.push_back({"* time passes", &ShardWorld::Tick});
  steps.push_back({"* 2 % of a tenure passes", &ShardWorld::TickALittle});
  if (Faulty(ShardFault::kSleepingClock)) {
    steps.push_back({"* time passes, and nodes are suspended", &ShardWorld::Suspend});
  }
}

void ShardWorld::AddFaults(std::vector<ShardStep>& steps) const {
  using World = ShardWorld;
  for (std::uint32_t i = 0; i < kProcesses; ++i) {
    const bool dead = processes_[i].dead;
    if (options_.cuts > 0)
      steps.push_back({"* a member is cut off from the others", &World::Cut, i});
    if (dead) steps.push_back({"* a member starts again", &World::StartAgain, i});
    if (!dead && options_.crashes > 0) steps.push_back({"* a member dies", &World::Crash, i});
  }
  if (options_.voter_restarts > 0) {
    steps.push_back({"* the third member starts again", &World::RestartVoter});
  }
  if (options_.clock_backs > 0) {
    steps.push_back({"* clocks are set back", &World::SetClockBack});
  }
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    if (options_.breaks > 0 && nodes_[node].process) {
      steps.push_back({"* a session breaks", &World::Break, node});
    }
  }
}

Time ShardWorld::FreeSince(std::uint32_t i) const {
  return Faulty(ShardFault::kPromisesTwice) ? now_ - kTick : voters_[i].until();
}

void ShardWorld::Turn(std::uint32_t i) {
  Tenure& tenure = processes_[i].tenure;
  const bool stood_by = !tenure.holds() && !tenure.claims();
  if (stood_by && !resting_) --options_.claims;
  const Tenure::Say say = tenure.Turn(now_, FreeSince(i), clock_);
  if (stood_by) clock_ += 10;
  Send(i, say);
  NoteStanding(i);
}

void ShardWorld::Send(std::uint32_t i, const Tenure::Say& say) {
  Question question{.ask = say.ask, .free = Faulty(ShardFault::kFreesNobody) ? 0 : say.free};
  if (!question.ask && question.free == 0) return;
  if (question.ask) Spoil(processes_[i], *question.ask);
  for (std::uint32_t voter = 0; voter < kVoters; ++voter) {
    if (processes_[i].cut && voter != i) continue;
    auto& waiting = processes_[i].questions.at(voter);
    if (waiting.size() == kMostWaiting) {
      const auto lost = std::ranges::find(waiting, 0U, &Question::free);
      waiting.erase(lost == waiting.end() ? waiting.begin() : lost);
    }
    waiting.push_back(question);
  }
}

void ShardWorld::Spoil(const Process& process, PromiseAsk& ask) const {
  if (Faulty(ShardFault::kNoNames)) ask.names.nodes.clear();
  if (!Faulty(ShardFault::kNamesItsOwn)) return;
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    if (process.tenure.awaits(IdOf(node))) ask.names.nodes.erase(IdOf(node));
  }
}

void ShardWorld::HearQuestion(std::uint32_t pair) {
  Process& process = processes_[pair / kVoters];
  const std::uint32_t voter = pair % kVoters;
  const Question question = process.questions[voter].front();
  process.questions[voter].pop_front();
  if (voter < kProcesses && processes_[voter].dead) return;
  if (question.free != 0) voters_[voter].Free(question.free, now_);
  if (!question.ask) return;
  const Duration early = Faulty(ShardFault::kPromisesTwice) ? kTenure * 2 : Duration{0};
  auto& waiting = process.answers[voter];
  waiting.push_back(voters_[voter].Hear(*question.ask, now_ + early));
  if (waiting.size() > kMostWaiting) waiting.pop_front();
}

void ShardWorld::HearAnswer(std::uint32_t pair) {
  const std::uint32_t i = pair / kVoters;
  Process& process = processes_[i];
  const std::uint32_t voter = pair % kVoters;
  PromiseAnswer answer = process.answers[voter].front();
  process.answers[voter].pop_front();
  if (process.dead) return;
  if (Faulty(ShardFault::kCountsAnyRound)) answer.round = process.tenure.begun();
  if (Faulty(ShardFault::kAnyLife)) answer.highest = answer.holder.life = 0;
  if (Faulty(ShardFault::kTrustsStarted)) answer.names.complete = true;
  Send(i, process.tenure.Hear(voter, answer, now_));
  const std::uint32_t another = (voter + 1) % kVoters;
  if (Faulty(ShardFault::kOneIsEnough)) Send(i, process.tenure.Hear(another, answer, now_));
  NoteStanding(i);
}

// A member that holds begins with nothing; one that stands by has ended all sessions.
void ShardWorld::NoteStanding(std::uint32_t i) {
  Process& process = processes_[i];
  if (process.tenure.holds() == Holds(i)) return;
  process.guests = {};
  process.number = {};
  process.chain.clear();
  process.given = 0;
  process.holding = process.tenure.holds() ? ++holdings_ : 0;
}

void ShardWorld::Pass(Duration time, bool by_nodes_clocks) {
  if (!resting_ && options_.ticks > 0 && time == kTick) --options_.ticks;
  now_ += time;
  if (by_nodes_clocks) node_now_ += time - time / 51;
}

void ShardWorld::Crash(std::uint32_t i) {
  --options_.crashes;
  forgetful_ = true;
  Process& process = processes_[i];
  process.dead = true;
  process.tenure = NewTenure(i);
  NoteStanding(i);
}

void ShardWorld::StartAgain(std::uint32_t i) {
  processes_[i].dead = false;
  for (auto& waiting : processes_[i].answers) waiting.clear();
  voters_[i] = NewVoter();
}

void ShardWorld::Cut(std::uint32_t i) {
  --options_.cuts;
  processes_[i].cut = forgetful_ = true;
}

void ShardWorld::RestartVoter(std::uint32_t) {
  --options_.voter_restarts;
  forgetful_ = true;
  voters_[kVoters - 1] = NewVoter();
}

void ShardWorld::SetClockBack(std::uint32_t) {
  --options_.clock_backs;
  forgetful_ = true;
  clock_ -= 500;
}

std::uint64_t ShardWorld::Fingerprint() const {
  Digest digest;
  digest.Add(options_.ticks).Add(options_.claims).Add(options_.crashes).Add(options_.breaks);
  digest.Add(options_.cuts).Add(options_.voter_restarts).Add(options_.clock_backs).Add(clock_);
  const auto add_waiting = [&](const std::optional<Waiting>& waiting, const Tenure& tenure) {
    digest.Add(waiting.has_value());
    if (waiting) digest.Add(tenure.begun() - waiting->begun).Add(node_now_ - waiting->left);
  };
  for (const Voter& voter : voters_) voter.AddTo(digest, now_);
  for (const Process& process : processes_) {
    process.tenure.AddTo(digest, now_);
    digest.Add(process.dead).Add(process.cut).Add(process.holding).Add(process.given);
    digest.Add(process.number).Add(process.chain);
    for (const Guest& guest : process.guests) {
      digest.Add(guest.open).Add(guest.told).Add(guest.heard).Add(guest.write.has_value());
      if (guest.write) digest.Add(guest.write->expected);
      add_waiting(guest.hello, process.tenure);
      add_waiting(guest.beat, process.tenure);
    }
    for (std::uint32_t v = 0; v < kVoters; ++v) {
      for (Question question : process.questions[v]) {
        if (question.ask) question.ask->round = process.tenure.begun() - question.ask->round;
        digest.Add(question.free);
        AddFields(digest, question.ask);
      }
      for (PromiseAnswer answer : process.answers[v]) {
        answer.round = process.tenure.begun() - answer.round;
        AddFields(digest, answer);
      }
      digest.Add(process.questions[v].size()).Add(process.answers[v].size());
    }
  }
  for (const Node& node : nodes_) {
    digest.Add(node.process.value_or(9)).Add(node.holding).Add(node.open).Add(node.beats);
    digest.Add(node.told).Add(node.number).Add(node.chain).Add(node.highest).Add(node.call);
    digest.Add(node.asked)
        .Add(node.write.expected)
        .Add(std::min(node_now_ - node.vouched, kTenure));
    for (const Word& word : node.words) {
      digest.Add(word.kind).Add(word.number).Add(word.chain);
      digest.Add(std::min(node_now_ - word.vouches, kTenure));
    }
    digest.Add(node.words.size());
  }
  digest.Add(holdings_).Add(spoke_).Add(acknowledged_).Add(acknowledged_number_);
  return digest.value();
}

}  // namespace hoplite::sim
