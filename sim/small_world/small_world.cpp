#include "sim/small_world/small_world.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/block_order.h"
#include "base/units.h"

namespace hoplite::sim {
namespace {

constexpr Content kOtherContent = 2000;
constexpr std::uint32_t kMostWaits = 50;

// The stripe of the first block that isn't there; none: all are.
std::optional<std::uint32_t> FirstEmpty(const Layout& layout, const StripeMarks& marks) {
  return NextStripe(layout, layout.all_stripes(), marks, layout.full_marks(), true);
}

Layout SmallLayout(const SmallOptions& options) {
  constexpr std::uint32_t kBlock = 4_KiB;
  return {.size_bytes = std::uint64_t{options.blocks} * kBlock,
          .block_bytes = kBlock,
          .run_bytes = kBlock,
          .stripe_count = options.stripes};
}

}  // namespace

SmallWorld::SmallWorld(const SmallOptions& options)
    : options_(options),
      object_(ObjectId::FromName("small")),
      layout_(SmallLayout(options)),
      directory_(options.fault, DirectoryOptionsOf(1), Time{}),
      lost_gives_left_(options.lost_gives),
      deaths_left_(options.deaths),
      restarts_left_(options.restarts),
      put_again_left_(options.put_again),
      delete_left_(options.deletes),
      lose_room_left_(options.loses_room),
      ask_again_left_(options.asks_again),
      join_left_(options.joins),
      witness_(object_) {
  if (options.cut) pairs_.emplace();
  const std::uint32_t count = options.nodes + (PutsOnOneMore() ? 1 : 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    members_.push_back({VirtualNode(NodeId{i + 1}, object_)});
    members_[i].has_memory = !(options.waits_for_memory && i == 1);
    if (options.joint) JoinAt(i);
    if (options.room && members_[i].has_memory) members_[i].node.SetRoom(layout_.size_bytes);
    Reconnect(i);
    while (!members_[i].to_directory.empty()) ToDirectory(i);
  }
  if (options.window > 0) members_[1].node.ReadThroughWindow();
  if (options.cut) {
    heal_left_ = options.cut->heals;
    cut_left_ = options.cut->late;
    if (!cut_left_) CutOff();
  }
  if (options.sources > 0) {
    StartReduction();
    GetAt(0);
    return;
  }
  Effects put;
  members_[0].node.Put(layout_, kFirstContent, options.inlined, put);
  Effect(0, put);
  const std::uint32_t readers = options.nodes - (options.looks_on ? 1 : 0);
  for (std::uint32_t i = 1; i < readers; ++i) GetAt(i);
}

void SmallWorld::JoinAt(std::uint32_t index) {
  Effects joined;
  members_[index].node.Join(joined);
  Effect(index, joined);
}

void SmallWorld::GetAt(std::uint32_t index) {
  Effects get;
  members_[index].node.Get(get);
  Effect(index, get);
}

planner::DirectoryOptions SmallWorld::DirectoryOptionsOf(std::uint64_t incarnation) const {
  planner::DirectoryOptions options;
  options.incarnation = incarnation;
  options.inline_limit_bytes = options_.inlined ? layout_.size_bytes : 0;
  options.inline_ahead_bytes = 0;
  options.holder_gives_from_bytes = 0;
  options.inline_ahead = Duration{0};
  options.link.guessed = !options_.inlined;
  options.keeps_source = Duration{0};
  if (options_.two_sites) options.link.bytes_per_second = 125'000;
  // A ring pays where a member's share takes more than two blocks.
  if (options_.everyone_reads) {
    options.link = {.latency = Duration{1}, .overhead = Duration{0}, .bytes_per_second = 1e6};
  }
  if (incarnation == 1) options.recovery_window = Duration{0};
  return options;
}

void SmallWorld::Do(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kToDirectory:
      ToDirectory(step.node);
      break;
    case Step::Kind::kToNode:
      ToNode(step.node);
      break;
    case Step::Kind::kAnswer:
      Answer(step.index);
      break;
    case Step::Kind::kBlock:
      Block(step.index);
      break;
    case Step::Kind::kEnd:
      End(step.index);
      break;
    case Step::Kind::kBreak:
      Break(step.index);
      break;
    case Step::Kind::kFill:
      Fill(step.node, step.index);
      break;
    case Step::Kind::kMemory:
      members_[step.node].has_memory = true;
      if (std::exchange(members_[step.node].wants_memory, false)) Reserve(step.node);
      break;
    case Step::Kind::kPutAgain: {
      put_again_left_ = false;
      if (reduction_) {
        PutSource(step.node, *LostSource());
        break;
      }
      Effects effects;
      members_[step.node].node.Put(layout_, kOtherContent, false, effects);
      Effect(step.node, effects);
      break;
    }
    case Step::Kind::kDelete: {
      delete_left_ = false;
      Effects effects;
      members_[step.node].node.Delete(effects);
      Effect(step.node, effects);
      break;
    }
    case Step::Kind::kLoseRoom: {
      lose_room_left_ = false;
      Effects effects;
      members_[step.node].node.LoseRoom(effects);
      Effect(step.node, effects);
      break;
    }
    case Step::Kind::kAskAgain:
      AskAgain(step.node);
      break;
    case Step::Kind::kGive:
      Give(step.node, step.index);
      break;
    case Step::Kind::kLoseGive:
      --lost_gives_left_;
      TakeGive(step.index);
      break;
    case Step::Kind::kReconnect:
      Reconnect(step.node);
      break;
    case Step::Kind::kTime:
      now_ = NextTime();
      if (pairs_) ++waits_for_way_;
      for (Member& member : members_) member.said_starved = false;
      if (++waits_ > kMostWaits) Fail("P9: the planner wants to be asked again and again");
      Plan();
      if (reduction_) Drive();
      break;
    case Step::Kind::kDie:
      Die(step.node);
      break;
    case Step::Kind::kRestart:
      Restart();
      break;
    case Step::Kind::kFoldBlock:
      FoldBlock(step.index);
      break;
    case Step::Kind::kFoldEnd:
      FoldEnd(step.index);
      break;
    case Step::Kind::kFoldLost:
      FoldLost(step.index);
      break;
    case Step::Kind::kGiveUp:
      GiveUp();
      break;
    case Step::Kind::kCut:
      CutOff();
      break;
    case Step::Kind::kHeal:
      Heal();
      break;
    case Step::Kind::kStarve:
      SayStarved(step.node);
      break;
    case Step::Kind::kJoin:
      join_left_ = false;
      JoinAt(step.node);
      break;
  }
  Check();
}

void SmallWorld::ToDirectory(std::uint32_t index) {
  const std::vector<planner::EventBody> batch = std::move(members_[index].to_directory.front());
  members_[index].to_directory.erase(members_[index].to_directory.begin());
  for (const planner::EventBody& event : batch) {
    witness_.Told(event);
    const auto* said = std::get_if<planner::NodeSaid>(&event);
    if (reduction_ && said != nullptr && witness_.open(said->node)) {
      reduction_->witness.Told(said->event);
    }
    if (pairs_) pairs_->Told(event, directory_.state(), now_);
    directory_.Apply({now_, event});
  }
  Plan();
}

void SmallWorld::Plan() {
  std::vector<planner::Action> actions;
  plan_at_ = directory_.Plan(now_, actions);
  if (plan_at_ != kNever) plan_at_ = std::max(plan_at_, now_ + Duration{1});
  if (reduction_) CheckReduce(actions);
  if (pairs_) Fail(pairs_->Check(actions, now_));
  for (planner::Action& action : actions) {
    if (ObjectOf(action.body) == object_) Fail(witness_.Check(action));
    const std::uint32_t to = IndexOf(action.to);
    if (to >= members_.size()) return Fail("an action is addressed to nobody");
    Member& member = members_[to];
    if (member.alive && member.node.connected()) member.to_node.push_back(std::move(action.body));
  }
}

void SmallWorld::ToNode(std::uint32_t index) {
  const protocol::NodeAction action = std::move(members_[index].to_node.front());
  members_[index].to_node.erase(members_[index].to_node.begin());
  if (options_.sources > 0 && HearReduce(index, action)) return;
  Effects effects;
  members_[index].node.Hear(action, now_, effects);
  Effect(index, effects);
}

void SmallWorld::Effect(std::uint32_t index, const Effects& effects) {
  for (const GrantId& grant : effects.end) {
    std::erase_if(streams_,
                  [&](const Stream& s) { return s.receiver == index && s.fetch.grant == grant; });
  }
  if (effects.copy_gone) {
    for (Stream& stream : streams_) {
      if (IndexOf(stream.fetch.source) != index || stream.open == 0) continue;
      if (stream.fate != Stream::Fate::kFlows) continue;
      stream.fate = Stream::Fate::kGone;
    }
  }
  for (const protocol::NodeEvent& event : effects.say) {
    Tell(index, planner::NodeSaid{members_[index].node.id(), event});
  }
  for (const Fetch& fetch : effects.open) streams_.push_back({.receiver = index, .fetch = fetch});
  gives_.insert(gives_.end(), effects.give.begin(), effects.give.end());
  if (effects.fill && !options_.growing) {
    while (members_[index].node.copy()->produces != 0) {
      Fill(index, *FirstEmpty(layout_, members_[index].node.copy()->marks));
    }
  }
  if (effects.reserve) Reserve(index);
  Fail(witness_.Check(members_[index].node));
  if (reduction_) CheckReader(members_[index].node);
}

void SmallWorld::Reserve(std::uint32_t index) {
  if (!members_[index].has_memory) {
    members_[index].wants_memory = true;
    return;
  }
  Effects effects;
  members_[index].node.MemoryReserved(effects);
  Effect(index, effects);
}

void SmallWorld::AddFillSteps(std::uint32_t index, std::vector<Step>& steps) const {
  const StripeMarks& marks = members_[index].node.copy()->marks;
  const auto first = FirstEmpty(layout_, marks);
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    const bool due = options_.unequal ? marks[s] < layout_.stripe_block_count(s) : s == first;
    if (due) steps.push_back({Step::Kind::kFill, index, s});
  }
}

void SmallWorld::Fill(std::uint32_t index, std::uint32_t stripe) {
  VirtualNode& node = members_[index].node;
  const StripeMarks& marks = node.copy()->marks;
  Fail(std::string(node.Received(stripe, marks[stripe] + 1, node.copy()->content[stripe])));
  if (!layout_.complete(node.copy()->marks)) return;
  Effects effects;
  node.Produced(effects);
  Effect(index, effects);
}

void SmallWorld::Fail(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

void SmallWorld::Check() {
  CheckGot();
  Fail(witness_.CheckNow(directory_.state(), Parties()));
  if (!violation_.empty() || !AtRest()) return;
  Fail(witness_.CheckAtRest(directory_.state(), Parties()));
  if (reduction_) Fail(CheckReduceAtRest());
}

std::vector<Party> SmallWorld::Parties() const {
  std::vector<Party> parties;
  parties.reserve(members_.size());
  for (const Member& member : members_) {
    parties.push_back({&member.node, member.alive, member.has_memory});
  }
  return parties;
}

}  // namespace hoplite::sim
