#include "node/reduce/slot.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <asio/post.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "net/await.h"

namespace hoplite::node {

Slot::Slot(Context& context, DataPlane& data_plane, EntryPtr entry, protocol::SlotAssigned order)
    : context_(context),
      data_plane_(data_plane),
      entry_(std::move(entry)),
      state_(context.decisions.Slot(std::move(order), context.settings.name, Now())),
      changed_(context.runtime.main()),
      sources_(state_->order().order.inputs.size()) {
  for (std::size_t i = 0; i < data_plane_.loop_count(); ++i) {
    grown_.push_back(std::make_unique<net::Signal>(data_plane_.LoopAt(i).loop));
  }
}

Slot::~Slot() = default;

void Slot::Start() {
  // From now on the object is made here; a flight would take the memory that it needs.
  if (root() && entry_->flight()) entry_->flight()->Supersede();
  context_.runtime.Spawn(context_.runtime.main(), "slot of a reduction", Run());
}

void Slot::OnCopyChanged() noexcept {
  for (const auto& grown : grown_) grown->Notify();
  changed_.Notify();
}

net::Task<void> Slot::Run() {
  const auto self = shared_from_this();
  while (!state_->over()) {
    const Time next = Look();
    if (state_->over()) break;
    co_await changed_.Wait(next);
    if (state_->gives_back() && !state_->over()) co_await LetGo();
  }
  waiter_.reset();
  co_await StopStreams();
  Release();
  entry_->Ended(state_->number(), *this);
  context_.memory.OnSpace();
  entry_->Changed();
}

// At everything that may have changed. Answers when to look again, if nothing changes.
Time Slot::Look() {
  const bool recalled = root() && output_ && output_->state() == store::CopyState::kVoid;
  if (recalled) state_->Drop();  // or deleted
  if (Stays()) OnCommitted();    // its flight has heard END before
  planner::SlotState::Effects effects;
  CloseEndedStreams(effects);
  LookAtSources(effects);
  if (state_->WantsOutput(Now())) {
    TakeOutput(effects);
    LookAtSources(effects);
  }
  const Time next = state_->Plan(Now(), Folded(), effects);
  Do(effects);
  if (waiter_) UnpinSources();
  return next;
}

void Slot::Do(const planner::SlotState::Effects& effects) {
  for (const protocol::NodeEvent& event : effects.say) Say(event);
  for (const planner::SlotState::Effects::Pull& pull : effects.pull) StartStreams(pull);
  if (effects.seal != 0) output_->Seal(effects.seal);
}

void Slot::Say(protocol::NodeEvent event) const {
  if (const auto* failed = std::get_if<protocol::SlotFailed>(&event)) {
    log::Debug("{}: {}", Name(), failed->message);
  }
  Measure(event);
  context_.directory.Send(std::move(event));
}

// Adds to a report what only this node knows.
void Slot::Measure(protocol::NodeEvent& event) const {
  auto* progress = std::get_if<protocol::SlotProgress>(&event);
  if (progress == nullptr) return;
  if (output_) progress->marks = output_->marks();
  progress->bytes_per_second = data_plane_.credit().bytes_per_second();
  progress->round_trip = data_plane_.round_trips().nearest();
}

void Slot::AppendInventory(std::vector<protocol::NodeEvent>& events) const {
  for (protocol::NodeEvent& event : state_->Inventory()) {
    Measure(event);
    events.push_back(std::move(event));
  }
}

// --- what the shard and the parent say

void Slot::OnFeed(const protocol::SlotFeed& feed) {
  if (!state_->OnFeed(feed)) return;
  TellFeeds();
  changed_.Notify();
}

void Slot::OnCommitted() {
  planner::SlotState::Effects effects;
  state_->OnCommitted(effects);
  if (!state_->committed()) return;
  Do(effects);
  if (rest_) rest_->OnCommitted();
  context_.store.Touch(entry_->object, Now());
  changed_.Notify();
  entry_->Changed();
}

void Slot::OnAsked(StripeMask stripes) {
  if (state_->OnAsked(stripes)) changed_.Notify();
}

void Slot::OnDrained(StripeMask stripes) {
  if (state_->OnDrained(stripes)) context_.memory.OnSpace();  // whoever waits may ask for it
}

void Slot::Drop(store::VoidReason reason) {
  if (state_->dropped()) return;
  state_->Drop();
  const bool open = OwnsOutput() && output_->state() == store::CopyState::kOpen;
  if (open && !state_->committed()) output_->Void(reason);
  if (rest_ && !Stays()) rest_->Supersede();
  changed_.Notify();
}

// --- the fold

void Slot::BeginFold() {
  const protocol::SlotAssigned& order = state_->order();
  std::vector<store::CopyPtr> in_memory;
  std::ranges::copy_if(sources_, std::back_inserter(in_memory),
                       [](const store::CopyPtr& source) { return !source->on_disk(); });
  const auto on_disk = static_cast<std::uint32_t>(sources_.size() - in_memory.size());
  accumulator_ = std::make_shared<Accumulator>(output_, order.fold, std::move(in_memory),
                                               order.order.children + on_disk, root());
  TellFeeds();
  FoldFromDisk();
  for (std::size_t loop = 0; loop < data_plane_.loop_count(); ++loop) {
    if (StripesOn(loop) == 0) continue;
    ++folders_;
    context_.runtime.Spawn(data_plane_.LoopAt(loop).loop, "fold of own sources", FoldOwnOn(loop));
  }
}

// Where no child feeds a stripe its own sources make it; so it must know of all children first.
void Slot::TellFeeds() {
  if (!accumulator_) return;
  for (const auto& [input, child] : state_->children()) {
    accumulator_->Feeds(StreamsOf(input).index, child.feed.stripes);
  }
  for (const auto& grown : grown_) grown->Notify();
}

Slot::Streams& Slot::StreamsOf(std::uint32_t input) {
  const auto next_index = static_cast<std::uint32_t>(streams_.size());
  return streams_.try_emplace(input, next_index).first->second;
}

net::Task<void> Slot::FoldOwnOn(std::size_t loop) {
  // Own sources are folded in turns, so that streams of the same loop go on.
  constexpr std::uint32_t kBlocksPerTurn = 16;
  const auto self = shared_from_this();
  const auto accumulator = accumulator_;
  const StripeMask stripes = StripesOn(loop);
  asio::io_context& context = data_plane_.LoopAt(loop).loop;
  while (!stopping_) {
    bool more = false;
    std::uint64_t advanced = 0;
    for (std::uint32_t s = 0; s < accumulator->layout().stripe_count; ++s) {
      if ((stripes >> s & 1) == 0) continue;
      const std::uint32_t before = accumulator->mark(s);
      more |= accumulator->FoldOwn(s, kBlocksPerTurn);
      advanced += accumulator->mark(s) - before;
    }
    if (advanced > 0) changed_.Notify();
    if (more) {
      co_await asio::post(context, net::kAwait);
    } else {
      co_await grown_[loop]->Wait();
    }
  }
  asio::post(context_.runtime.main(), [self] {
    --self->folders_;
    self->changed_.Notify();
  });
}

planner::FoldProgress Slot::Folded() const {
  if (!output_) return {};
  const Layout& layout = output_->layout();
  planner::FoldProgress folded;
  for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
    const StripeMask stripe = state_->makes() & StripeMask{1} << s;
    if (stripe == 0) continue;  // of the target, and somebody else's
    folded.any |= output_->mark(s) > 0;
    if (output_->mark(s) == layout.stripe_block_count(s)) folded.made |= stripe;
  }
  const auto begun = [this](const auto& streams) {
    return std::ranges::any_of(FoldedOf(streams.second),
                               [](std::uint32_t mark) { return mark > 0; });
  };
  folded.of_each_child =
      streams_.size() == state_->order().order.children && std::ranges::all_of(streams_, begun);
  return folded;
}

StripeMarks Slot::FoldedOf(const Streams& streams) const {
  StripeMarks marks = state_->order().layout.empty_marks();
  for (std::uint32_t s = 0; accumulator_ && s < marks.size(); ++s) {
    marks[s] = accumulator_->child_mark(streams.index, s);
  }
  return marks;
}

// All of a part on one: then its child is one stream (R64).
std::size_t Slot::LoopOf(std::uint32_t stripe) const {
  const std::uint32_t lane = state_->makes_all() ? stripe : state_->number();
  return data_plane_.IndexFor(state_->order().layout.size_bytes, entry_->object.Hash() + lane);
}

StripeMask Slot::StripesOn(std::size_t loop) const {
  StripeMask stripes = 0;
  for (std::uint32_t s = 0; s < state_->order().layout.stripe_count; ++s) {
    if (LoopOf(s) == loop) stripes |= StripeMask{1} << s;
  }
  return stripes & state_->makes();
}

std::string Slot::Name() const {
  return fmt::format("reduction into {}, slot {} version {}", entry_->object.ToHex(),
                     state_->number(), ToString(version()));
}

}  // namespace hoplite::node
