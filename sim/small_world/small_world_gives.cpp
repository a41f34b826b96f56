// SmallWorld: small objects that go on from node to node (R83).
#include "sim/small_world/small_world.h"

namespace hoplite::sim {

void SmallWorld::AddGiveSteps(std::vector<Step>& steps) const {
  for (std::uint32_t i = 0; i < gives_.size(); ++i) {
    const std::uint32_t to = IndexOf(gives_[i].to.id);
    if (members_[to].alive) steps.push_back({Step::Kind::kGive, to, i});
  }
}

protocol::InlineObject SmallWorld::TakeGive(std::size_t index) {
  protocol::InlineObject given = std::move(gives_[index].given);
  gives_.erase(gives_.begin() + static_cast<std::ptrdiff_t>(index));
  return given;
}

void SmallWorld::Give(std::uint32_t node, std::size_t index) {
  protocol::InlineObject given = TakeGive(index);
  if (options_.fault == PlantedFault::kTakesAnyGive) given.number = members_[node].node.asked();
  Effects effects;
  members_[node].node.HearGive(given, effects);
  Effect(node, effects);
}

// Who is not the first of any list. Of an inlined object it also asks again what it was told to be
// deleted.
void SmallWorld::AddAskAgain(std::vector<Step>& steps) const {
  const std::uint32_t who = options_.inlined ? 2 : 1;
  const Member& member = members_[who];
  const bool in_vain = options_.inlined && member.node.told_deleted();
  const bool may = member.alive && (member.node.waiting() || in_vain);
  if (ask_again_left_ && may) steps.push_back({Step::Kind::kAskAgain, who});
}

void SmallWorld::AskAgain(std::uint32_t index) {
  ask_again_left_ = false;
  Member& member = members_[index];
  Effects effects;
  member.node.Cancel(effects);
  member.node.Get(effects);
  // What the shard said before may still answer it.
  member.asks_in_vain = directory_.state().Owners(object_).deleted && member.to_node.empty();
  Effect(index, effects);
}

// Whoever asked after a deletion does not get what was deleted.
void SmallWorld::CheckGot() {
  for (const Member& member : members_) {
    const bool got = member.asks_in_vain && member.node.got() == kFirstContent;
    if (got) Fail("P5: a node got an object that had been deleted when it asked");
  }
}

}  // namespace hoplite::sim
