#include "sim/planner_world/world.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "planner/reduce/stripe_ring.h"
#include "sim/kit/message_digest.h"

namespace hoplite::sim {
namespace {

constexpr Duration kLongest = std::chrono::hours(1);
constexpr std::uint32_t kAlwaysCheckedNodes = 64;
constexpr std::uint64_t kSampleEvery = 997;

// Where no ring can be (R64) the stripes of a stream begin together, and are as fast side by side: turns
// of thousands of streams would take minutes to compute.
Stripes StripesOf(const Options& options) {
  // Rates are seen in marks, which stripes side by side raise all at once.
  if (options.links.any()) return Stripes::kInTurns;
  // Side by side, streams that follow each other's rates never come to rest where shares are unequal.
  if (options.noise.of_links()) return Stripes::kInTurns;
  if (!options.reduce || !options.reduce->everyone_reads) return Stripes::kSideBySide;
  const std::size_t members = std::min(PicksOf(options), options.nodes);
  const bool may_be_ring =
      !options.reduce->two_trees && !options.without.ring && members <= planner::kMostInARing;
  return may_be_ring ? Stripes::kInTurns : Stripes::kSideBySide;
}

}  // namespace

World::World(const Options& options)
    : World(options, ObjectId::FromName("broadcast"),
            std::make_shared<Network>(Layout::For(options.size_bytes, options.stripes),
                                      static_cast<double>(options.bytes_per_second),
                                      options.latency, StripesOf(options))) {}

World::World(const Options& options, const ObjectId& object, std::shared_ptr<Network> links)
    : options_(options),
      layout_(Layout::For(options.size_bytes, options.stripes)),
      object_(object),
      random_(options.seed),
      lateness_(options.noise.late, options.latency, options.seed),
      links_(std::move(links)),
      network_(links_),
      witness_(object_) {
  links_->SetNoise(options.noise, options.seed);
  if (options.cuts > 0 || !options.cut_pairs.empty()) pairs_.emplace();
  StartDirectory(Duration{0});
}

void World::StartDirectory(Duration recovery_window) {
  planner::DirectoryOptions options;
  options.incarnation = ++directory_life_;
  options.inline_limit_bytes = options_.inline_limit_bytes;
  if (options_.full_link) {
    options.inline_ahead_bytes = 0;
    options.holder_gives_from_bytes = 0;
    options.inline_ahead = Duration{0};
  }
  options.recovery_window = recovery_window;
  // Else the id would still be blocked when the object is put again.
  if (options_.rounds > 1) options.tombstone = options_.latency;
  options.forest_from = options_.forest_from;
  options.without = options_.without;
  if (!options_.unmeasured) {
    options.link = {.latency = options_.latency,
                    .overhead = Duration{0},
                    .bytes_per_second = static_cast<double>(options_.bytes_per_second)};
  }
  directory_.emplace(options_.fault, options, now_);
  witness_.DirectoryRestarted();
  if (reduction_) reduction_->witness.DirectoryRestarted();
  if (pairs_) pairs_->DirectoryRestarted();
  plan_at_ = now_;
}

NodeIndex World::AddNode() { return Join(network_.AddNode()); }

NodeIndex World::AddNodeAt(NodeIndex machine) { return Join(network_.AddNodeAt(machine)); }

NodeIndex World::Join(NodeIndex index) {
  if (IsSlow(options_, index)) {
    network_.SetRate(index, static_cast<double>(options_.bytes_per_second) / 10);
  }
  SetLinks(index);
  members_.emplace_back(VirtualNode(NodeId{index + 1}, object_));
  members_[index].node.SetRoom(options_.room_bytes);
  members_[index].depths.resize(layout_.stripe_count);
  Connect(index);
  return index;
}

void World::SetLinks(NodeIndex index) {
  const UnequalLinks& links = options_.links;
  if (!links.any()) return;
  if (!links.bytes_per_second.empty()) {
    network_.SetRate(index, static_cast<double>(RateOf(options_, index)));
  }
  if (links.sites > 1) {
    network_.SetSite(index, SiteOf(options_, index), static_cast<double>(links.between_per_second));
  }
}

void World::SetMemoryFree(NodeIndex index, Time when) {
  members_[index].memory_free = when;
  members_[index].node.SetRoom(0);
  At(when, [this, index] {
    if (members_[index].memory_free <= now_) members_[index].node.SetRoom(options_.room_bytes);
  });
}

void World::Get(NodeIndex index) {
  if (!members_[index].alive) return;
  members_[index].asked = now_;
  Effects effects;
  members_[index].node.Get(effects);
  Do(index, effects);
}

void World::ForgetGets() {
  for (Member& member : members_) {
    member.asked.reset();
    member.returned.reset();
    member.node.ForgetGet();
  }
}

void World::Put(NodeIndex index, Content content) {
  if (!members_[index].alive) return;
  Effects effects;
  members_[index].node.Put(layout_, content, layout_.size_bytes <= options_.inline_limit_bytes,
                           effects);
  Do(index, effects);
}

void World::CallOf(NodeIndex index, Call call) {
  if (!members_[index].alive) return;
  SyncMarks(index);
  Effects effects;
  (members_[index].node.*call)(effects);
  Do(index, effects);
}

void World::Delete(NodeIndex index) { CallOf(index, &VirtualNode::Delete); }
void World::Cancel(NodeIndex index) { CallOf(index, &VirtualNode::Cancel); }
void World::Evict(NodeIndex index) { CallOf(index, &VirtualNode::Evict); }
void World::Subscribe(NodeIndex index) { CallOf(index, &VirtualNode::Subscribe); }

void World::Run() {
  // Each node and fault may cause some work; a history that needs more than this never ends.
  const std::uint64_t times = options_.noise.of_links() ? 8 : 1;
  const std::uint64_t most_events =
      times * options_.rounds * (200'000 + 20'000 * std::uint64_t{options_.nodes});
  while (violation_.empty()) {
    const Time next = std::min(next_event(), links_->next_event());
    if (next == kNever) break;
    if (next - Time{} > kLongest || events() > most_events) {
      Fail(fmt::format("P9: no rest after {} events and {:.3f} s", events(),
                       ToSeconds(now_ - Time{})));
      return;
    }
    Step(next);
  }
  CheckAtRest();
}

void World::CheckAtRest() {
  if (violation_.empty() && directory_) Fail(witness_.CheckAtRest(directory_->state(), Parties()));
  if (reduction_) Fail(CheckReduceAtRest());
}

// Everything that happens at one instant: bytes, then messages, then decisions, then new rates.
void World::Step(Time when) {
  now_ = std::max(when, now_);
  whole_.clear();
  links_->Advance(now_, whole_);
  Turn(now_, whole_);
  links_->Settle(now_);
  if (members_.size() <= kAlwaysCheckedNodes || ++checked_ % kSampleEvery == 0) Check();
}

void World::Turn(Time now, std::span<const Network::Whole> whole) {
  now_ = now;
  for (Network::Whole each : whole) {
    const NodeIndex* mine = network_.Mine(each.node);
    if (mine == nullptr) continue;
    each.node = *mine;
    OnWhole(each);
  }
  while (queue_.next_time() <= now_) {
    ++events_;
    queue_.Pop()();
  }
  if (plan_at_ <= now_) Plan();
}

void World::Check() {
  Fail(links_->BrokenInvariant(now_));
  if (directory_) Fail(witness_.CheckNow(directory_->state(), Parties()));
}

std::vector<Party> World::Parties() const {
  std::vector<Party> parties;
  parties.reserve(members_.size());
  for (const Member& member : members_) {
    parties.push_back({&member.node, member.alive, member.memory_free <= now_});
  }
  return parties;
}

double World::ShownOf(NodeIndex index) const {
  return directory_ ? directory_->state().ShownOf(NodeId{index + 1}) : 0;
}

void World::Plan() {
  plan_at_ = kNever;
  if (!directory_) return;
  actions_.clear();
  const Time again = directory_->Plan(now_, actions_);
  if (again != kNever) plan_at_ = std::max(again, now_ + Duration{1});
  if (reduction_) CheckReduce();
  if (pairs_) Fail(pairs_->Check(actions_, now_));
  for (planner::Action& action : actions_) {
    AddTo(digest_.Add(now_).Add(action.to), action.body);
    Fail(witness_.Check(action));
    if (const auto* grant = std::get_if<protocol::Grant>(&action.body); grant && grant->replaces) {
      ++(action.why == planner::MoveReason::kTrial ? trials_ : moves_);
    }
    Deliver(action.to, std::move(action.body));
  }
}

void World::Fail(const std::string& what) {
  if (violation_.empty() && !what.empty()) {
    violation_ = fmt::format("{} (at {:.6f} s)", what, ToSeconds(now_ - Time{}));
  }
}

}  // namespace hoplite::sim
