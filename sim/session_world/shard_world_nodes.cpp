// Nodes of a shard with members: sessions, the fence, the register, and the properties.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/session_world/shard_world.h"

namespace hoplite::sim {

void ShardWorld::AddNode(std::vector<ShardStep>& steps, std::uint32_t n) const {
  using World = ShardWorld;
  const Node& node = nodes_[n];
  if (!node.process) {
    for (std::uint32_t i = 0; i < kProcesses; ++i) {
      if (Holds(i)) steps.push_back({"a node says Hello", &World::Greet, i * kNodes + n});
    }
  } else {
    const bool same = InSession(n);
    if (!node.words.empty()) steps.push_back({"a node takes a word", &World::Take, n});
    if (!same || !Believes(n)) steps.push_back({"a node's session ends", &World::End, n});
    if (same && node.open) {
      if (!node.beats) steps.push_back({"a heartbeat comes", &World::Beat, n});
      if (!node.told) steps.push_back({"an inventory comes", &World::Tell, n});
      const bool asks = node.told && node.call == Node::Call::kOpen && !node.asked;
      if (asks) steps.push_back({"a write comes", &World::AskWrite, n});
    }
  }
  const bool writes = options_.writes && node.call == Node::Call::kNone;
  if (writes) steps.push_back({"a client writes", &World::CallWrite, n});
}

void ShardWorld::AddGuest(std::vector<ShardStep>& steps, std::uint32_t pair) const {
  using World = ShardWorld;
  const Process& process = processes_[pair / kNodes];
  const std::uint32_t n = pair % kNodes;
  const Guest& guest = process.guests[n];
  if (process.holding == 0) return;
  if (guest.hello && Covers(process, *guest.hello, Faulty(ShardFault::kWelcomesAtOnce))) {
    steps.push_back({"a member welcomes a node", &World::Welcome, pair});
  }
  if (!guest.open) return;
  if (guest.beat && Covers(process, *guest.beat, Faulty(ShardFault::kAcksAtOnce))) {
    steps.push_back({"a member acknowledges a heartbeat", &World::Acknowledge, pair});
  }
  const bool idle = nodes_[n].words.empty();
  if (!options_.writes && idle && !resting_) {
    steps.push_back({"a member says a word", &World::SayWord, pair});
  }
  if (!SpeaksOfRegister(process) || !guest.told) return;
  if (guest.write) steps.push_back({"a member answers a write", &World::Answer, pair});
  if (!guest.write && guest.heard < process.number) {
    steps.push_back({"a member tells of a write", &World::SayNews, pair});
  }
}

bool ShardWorld::Covers(const Process& process, const Waiting& waiting, bool at_once) const {
  if (at_once) return true;
  const bool open_counts = Faulty(ShardFault::kAcksOpenRound);
  return process.tenure.kept() + (open_counts ? 1 : 0) > waiting.begun;
}

bool ShardWorld::InSession(std::uint32_t n) const {
  const Node& node = nodes_[n];
  return node.process && processes_[*node.process].holding == node.holding;
}

void ShardWorld::Greet(std::uint32_t pair) {
  const std::uint32_t i = pair / kNodes;
  const std::uint32_t n = pair % kNodes;
  Process& process = processes_[i];
  Node& node = nodes_[n];
  std::uint64_t highest = Faulty(ShardFault::kDeafToHello) ? 0 : node.highest;
  directory::Tenure::Say say;
  const bool may_join = process.tenure.Greet(IdOf(n), highest, now_, say);
  Send(i, say);
  NoteStanding(i);
  if (!may_join) return;
  process.guests[n] = {.hello = Waiting{process.tenure.begun(), node_now_}};
  node.process = i;
  node.holding = process.holding;
  node.vouched = node_now_;
  node.open = node.beats = node.told = node.asked = false;
  node.words.clear();
}

void ShardWorld::Welcome(std::uint32_t pair) {
  const std::uint32_t n = pair % kNodes;
  Guest& guest = processes_[pair / kNodes].guests[n];
  guest.hello.reset();
  guest.open = true;
  if (InSession(n)) Say(n, {.kind = Kind::kWelcome, .vouches = nodes_[n].vouched});
}

void ShardWorld::Beat(std::uint32_t n) {
  nodes_[n].beats = true;
  const Process& process = processes_[*nodes_[n].process];
  GuestOf(n).beat = Waiting{process.tenure.begun(), node_now_};
  processes_[*nodes_[n].process].tenure.Hurry();
}

void ShardWorld::Acknowledge(std::uint32_t pair) {
  const std::uint32_t n = pair % kNodes;
  const auto beat = std::exchange(processes_[pair / kNodes].guests[n].beat, std::nullopt);
  Say(n, {.kind = Kind::kAck, .vouches = beat->left});
}

void ShardWorld::Tell(std::uint32_t n) {
  Node& node = nodes_[n];
  Process& process = processes_[*node.process];
  node.told = GuestOf(n).told = true;
  GuestOf(n).heard = node.number;
  if (node.number > process.number) {
    process.number = node.number;
    process.chain = node.chain;
  }
  if (node.call == Node::Call::kOpen) AskWrite(n);
  process.tenure.Told(IdOf(n));
  // Nodes that nobody named come within the time of a started shard.
  if (process.guests[0].told && process.guests[1].told) process.tenure.EndWindow();
}

void ShardWorld::CallWrite(std::uint32_t n) {
  Node& node = nodes_[n];
  node.call = Node::Call::kOpen;
  node.write = {.expected = node.number, .attempt = n + 1};
}

void ShardWorld::AskWrite(std::uint32_t n) {
  nodes_[n].asked = true;
  GuestOf(n).write = nodes_[n].write;
}

bool ShardWorld::SpeaksOfRegister(const Process& process) const {
  const bool told = process.guests[0].told || process.guests[1].told;
  if (Faulty(ShardFault::kOpensAtOnce)) return options_.writes && told;
  return options_.writes && !process.tenure.collecting();
}

// A write that is the last one done was done before, and its answer was lost.
void ShardWorld::Answer(std::uint32_t pair) {
  const std::uint32_t n = pair % kNodes;
  Process& process = processes_[pair / kNodes];
  const Write write = *std::exchange(process.guests[n].write, std::nullopt);
  const char attempt = static_cast<char>('0' + write.attempt);
  const bool done = process.chain.ends_with(attempt);
  const bool fits = !done && process.number == write.expected;
  if (fits) {
    process.number = {process.tenure.life(), ++process.given};
    process.chain += attempt;
    NoteNumber(process.number, process.chain);
  }
  process.guests[n].heard = process.number;
  Say(n, {.kind = done || fits ? Kind::kWritten : Kind::kRefused,
          .number = process.number,
          .chain = process.chain});
  CheckRegister(process);
}

void ShardWorld::SayNews(std::uint32_t pair) {
  const std::uint32_t n = pair % kNodes;
  Process& process = processes_[pair / kNodes];
  process.guests[n].heard = process.number;
  Say(n, {.kind = Kind::kNews, .number = process.number, .chain = process.chain});
  CheckRegister(process);
}

void ShardWorld::SayWord(std::uint32_t pair) { Say(pair % kNodes, {.kind = Kind::kWord}); }

void ShardWorld::Take(std::uint32_t n) {
  if (!Believes(n)) return End(n);
  Node& node = nodes_[n];
  const Word word = std::move(node.words.front());
  node.words.pop_front();
  if (word.kind == Kind::kWelcome) {
    node.open = true;
    return;
  }
  if (word.kind == Kind::kAck) {
    node.vouched = Faulty(ShardFault::kFromAnswer) ? node_now_ : word.vouches;
    node.beats = false;
    return;
  }
  if (node.holding < spoke_) {
    Fail(fmt::format("safety: node {} takes a word of holder {}, after one of holder {} was taken",
                     n, node.holding, spoke_));
  }
  spoke_ = std::max(spoke_, node.holding);
  TakeEntry(n, word);
}

void ShardWorld::TakeEntry(std::uint32_t n, const Word& word) {
  Node& node = nodes_[n];
  if (word.kind == Kind::kWord) return;
  if (word.number < node.number) Fail(fmt::format("safety: node {} steps back", n));
  node.number = word.number;
  node.chain = word.chain;
  node.highest = std::max(node.highest, word.number.incarnation);
  if (word.kind == Kind::kNews || node.call != Node::Call::kOpen) return;
  node.call = word.kind == Kind::kWritten ? Node::Call::kDone : Node::Call::kRefused;
  const char attempt = static_cast<char>('0' + node.write.attempt);
  const bool held = std::ranges::count(word.chain, attempt) > 0;
  if (word.kind == Kind::kWritten) {
    acknowledged_ += attempt;
    acknowledged_number_ = std::max(acknowledged_number_, word.number);
  } else if (held && word.chain.ends_with(attempt)) {
    Fail("safety: a write is refused, and the register holds it");
  }
}

void ShardWorld::End(std::uint32_t n) {
  Node& node = nodes_[n];
  if (InSession(n)) GuestOf(n) = {};
  node.process.reset();
  node.holding = 0;
  node.open = node.beats = node.told = node.asked = false;
  node.words.clear();
}

void ShardWorld::Break(std::uint32_t n) {
  --options_.breaks;
  End(n);
}

void ShardWorld::NoteNumber(Number number, const Chain& chain) {
  const auto [known, fresh] = values_.emplace(number, chain);
  if (!fresh && known->second != chain) {
    Fail(fmt::format("safety: number {} is given twice", hoplite::ToString(number)));
  }
}

// What the newest holder says of the register.
void ShardWorld::CheckRegister(const Process& process) {
  if (process.holding != holdings_) return;
  for (const char attempt : {'1', '2'}) {
    const auto times = std::ranges::count(process.chain, attempt);
    if (times > 1) Fail("safety: a write was done twice");
    const bool needed = acknowledged_.find(attempt) != std::string::npos;
    if (needed && times == 0) Fail("safety: an acknowledged write is lost");
  }
  if (process.number < acknowledged_number_) Fail("safety: the register's number goes back");
}

// Everything that is due happens at once, and time passes in small steps.
void ShardWorld::Rest() {
  constexpr Duration kStep = std::chrono::milliseconds(100);
  resting_ = true;
  options_.crashes = options_.voter_restarts = options_.clock_backs = options_.breaks = 0;
  options_.cuts = 0;
  for (Process& process : processes_) process.cut = false;
  if (processes_[0].dead && processes_[1].dead) StartAgain(1);
  for (Duration passed{0}; passed < kTenure * 4; passed += kStep) {
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      if (InSession(n) && nodes_[n].open && !nodes_[n].beats) Beat(n);
    }
    for (int steps = 0; steps < 1000 && DoOneThatIsDue(); ++steps) continue;
    Pass(kStep, true);
  }
  CheckAtRest();
}

bool ShardWorld::DoOneThatIsDue() {
  for (const ShardStep& step : Steps()) {
    if (IsRare(step) || step.take == &ShardWorld::Beat) continue;
    Do(step);
    return true;
  }
  return false;
}

void ShardWorld::CheckAtRest() {
  const auto holder =
      std::ranges::find_if(processes_, [](const Process& p) { return p.holding != 0; });
  if (holder == processes_.end()) return Fail("liveness: nobody holds the shard");
  for (std::uint32_t v = 0; v < kVoters; ++v) {
    const bool dead = v < kProcesses && processes_[v].dead;
    if (!dead && !forgetful_ && voters_[v].holder().life != holder->tenure.life()) {
      Fail(fmt::format("liveness: voter {} does not promise the holder", v));
    }
  }
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    if (!nodes_[n].open) Fail(fmt::format("liveness: node {} has no session", n));
    if (nodes_[n].call == Node::Call::kOpen)
      Fail(fmt::format("liveness: node {} is not answered", n));
  }
}

}  // namespace hoplite::sim
