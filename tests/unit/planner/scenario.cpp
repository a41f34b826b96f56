#include "scenario.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace hoplite::planner {
namespace {

std::string NamesOf(const std::vector<Onward>& onward) {
  std::string names;
  for (const Onward& one : onward) names += (names.empty() ? " for " : " ") + one.node.name;
  return names;
}

}  // namespace

Scenario::Scenario() { Restart(New()); }

DirectoryOptions Scenario::New() const {
  DirectoryOptions options;
  options.recovery_window = Duration{0};
  return options;
}

DirectoryOptions Scenario::Recovering() const {
  DirectoryOptions options;
  options.incarnation = 2;
  return options;
}

Scenario& Scenario::Restart(const DirectoryOptions& options) {
  state_ = std::make_unique<DirectoryState>(options, now_);
  return *this;
}

Scenario& Scenario::After(Duration passed) {
  now_ += passed;
  std::vector<Action> actions;
  next_ = state_->Plan(now_, actions);
  for (const Action& action : actions) Note(action);
  EXPECT_EQ(state_->BrokenInvariant(), "");
  return *this;
}

Scenario& Scenario::Pass(Duration passed) {
  const Time until = now_ + passed;
  while (next_ < until) After(std::max(next_, now_) - now_);
  return After(until - now_);
}

void Scenario::Step(const EventBody& body) {
  state_->Apply({now_, body});
  EXPECT_EQ(state_->BrokenInvariant(), "");
  if (!batching_) After(Duration{0});
}

Scenario& Scenario::JointGets() {
  batching_ = true;
  return *this;
}

Scenario& Scenario::Now() {
  batching_ = false;
  return After(Duration{0});
}

NodeId Scenario::Id(const std::string& node) {
  const auto [entry, fresh] = ids_.try_emplace(node, NodeId{ids_.size() + 1});
  if (fresh) names_[entry->second] = node;
  return entry->second;
}

StripeMarks Scenario::Marks(std::uint32_t blocks) const {
  StripeMarks marks(layout_.stripe_count);
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    marks[s] = std::min(blocks, layout_.stripe_block_count(s));
  }
  return marks;
}

Scenario& Scenario::Connect(const std::string& node) {
  Step(NodeJoined{{Id(node), node, node + ":1"}, versions_[node].incarnation, numbers_[node]});
  return *this;
}
Scenario& Scenario::JoinAt(const std::string& node, const std::string& site, std::uint64_t link) {
  Step(NodeJoined{{Id(node), node, node + ":1", site, link}});
  return EndInventory(node);
}
Scenario& Scenario::Join(const std::string& node) { return Connect(node).EndInventory(node); }
Scenario& Scenario::Suspend(const std::string& node) {
  Step(NodeSuspended{Id(node)});
  return *this;
}
Scenario& Scenario::Lose(const std::string& node) {
  Step(NodeLost{Id(node)});
  return *this;
}
Scenario& Scenario::Say(const std::string& node, NodeEvent event) {
  Step(NodeSaid{Id(node), std::move(event)});
  return *this;
}

Scenario& Scenario::Create(const std::string& node) {
  return Say(node, protocol::Create{object_, layout_, metadata_, nullptr});
}
Scenario& Scenario::PutInline(const std::string& node, std::uint64_t bytes) {
  return Say(node, protocol::Create{object_, Layout::For(bytes), metadata_,
                                    std::make_shared<const std::string>(bytes, 'x')});
}
Scenario& Scenario::Complete(const std::string& node) {
  return Say(node, CopyComplete{object_, versions_[node]});
}
Scenario& Scenario::Gone(const std::string& node, GoneReason reason) {
  return Say(node, CopyGone{object_, versions_[node], reason});
}
Scenario& Scenario::Locate(const std::string& node, std::uint64_t expects) {
  return Say(node, protocol::Locate{.object = object_, .expects = expects, .joint = joint_});
}
Scenario& Scenario::Ask(const std::string& node, std::uint64_t room) {
  return AskIfOwned(node, room, 0);
}
Scenario& Scenario::AskIfOwned(const std::string& node, std::uint64_t room, std::uint64_t expects) {
  return Say(node, protocol::Locate{object_, expects, room, ++asked_, joint_});
}
Scenario& Scenario::Want(const std::string& node, std::uint32_t blocks) {
  return Say(node, protocol::Want{object_, versions_[node], Marks(blocks), false, joint_});
}
Scenario& Scenario::WantAsLeaf(const std::string& node, std::uint32_t blocks) {
  return Say(node, protocol::Want{object_, versions_[node], Marks(blocks), true});
}
Scenario& Scenario::CancelWant(const std::string& node) {
  return Say(node, protocol::CancelWant{object_, versions_[node]});
}
Scenario& Scenario::Progress(const std::string& node, std::uint32_t blocks, Duration starved) {
  return Say(node, protocol::Progress{object_, versions_[node], Marks(blocks), 0, starved,
                                      Duration{0}, now_});
}
Scenario& Scenario::Done(const std::string& node) {
  return Close(node, Outcome::kDone, layout_.stripe_block_count(0)).Complete(node);
}
Scenario& Scenario::Fail(const std::string& node, std::uint32_t blocks, Failure failure) {
  return Say(node, GrantClosed{object_, versions_[node], grants_[node], Outcome::kFailed, failure,
                               Marks(blocks)});
}
Scenario& Scenario::Close(const std::string& node, Outcome outcome, std::uint32_t blocks) {
  return Say(node, GrantClosed{object_, versions_[node], grants_[node], outcome, Failure::kNone,
                               Marks(blocks)});
}
Scenario& Scenario::Delete(const std::string& node) { return Say(node, protocol::Delete{object_}); }
Scenario& Scenario::Evict(const std::string& node, const std::string& taker) {
  const NodeId named = taker.empty() ? kNoNode : Id(taker);
  return Say(node, EvictAsk{object_, versions_[node], named});
}
Scenario& Scenario::Subscribe(const std::string& node, std::uint64_t expects) {
  return Say(node, protocol::Subscribe{object_, expects});
}
Scenario& Scenario::HeldBy(const std::string& node, std::uint32_t blocks,
                           const std::string& upstream) {
  Held held{object_, versions_[node], layout_, metadata_, Marks(blocks)};
  if (!upstream.empty()) {
    held.upstreams = {{Id(upstream), grants_[node], layout_.all_stripes()}};
  }
  return Say(node, held);
}
Scenario& Scenario::HeldComplete(const std::string& node) {
  Held held{object_, versions_[node], layout_, metadata_, layout_.full_marks()};
  held.complete = true;
  return Say(node, held);
}

Scenario& Scenario::Own(const std::string& node, bool own) {
  return Say(node, Owner{object_, ++numbers_[node], own});
}
Scenario& Scenario::OwnFor(const std::string& node, Duration grace) {
  return Say(node, Owner{object_, ++numbers_[node], true, grace});
}
Scenario& Scenario::Owned(const std::string& node, bool own) {
  return Say(node, protocol::Owned{object_, ++numbers_[node], own});
}
Scenario& Scenario::OwnedPut(const std::string& node, std::uint64_t attempt) {
  return Say(node, protocol::Create{.object = object_,
                                    .layout = layout_,
                                    .attempt = attempt,
                                    .owned = true,
                                    .number = ++numbers_[node]});
}
Scenario& Scenario::PutIfOwned(const std::string& node) {
  return Say(node, protocol::Create{
                       .object = object_, .layout = layout_, .attempt = 1, .only_if_owned = true});
}
Scenario& Scenario::HeldOwned(const std::string& node) {
  Held held{object_, versions_[node], layout_, metadata_, layout_.full_marks()};
  held.complete = held.ever_owned = true;
  return Say(node, held);
}

void Scenario::Note(const Action& action) {
  const std::string to = names_.at(action.to);
  answers_.push_back(Words(to, action.body));
  if (action.why != MoveReason::kNone) why_ = action.why;
}

std::string Scenario::Number(Version version) {
  const auto place = std::ranges::find(seen_, version);
  const std::size_t number = static_cast<std::size_t>(place - seen_.begin()) + 1;
  if (place == seen_.end()) seen_.push_back(version);
  return fmt::format("v{}", number);
}

std::string Scenario::Words(const std::string& to, const NodeAction& body) {
  if (const auto* accepted = std::get_if<CreateAccepted>(&body)) {
    versions_[to] = accepted->version;
    return to + ": accepted " + Number(accepted->version);
  }
  if (const auto* refused = std::get_if<CreateRefused>(&body)) {
    last_message_ = refused->message;
    return fmt::format("{}: refused {}", to, Name(refused->code));
  }
  if (const auto* located = std::get_if<Located>(&body)) {
    versions_[to] = located->version;
    if (located->wanted != 0) EXPECT_EQ(located->wanted, asked_) << "the last question's number";
    return to + ": located " + Number(located->version) + (located->wanted ? " and wants it" : "");
  }
  if (const auto* inlined = std::get_if<InlineObject>(&body)) {
    return to + ": inline " + Number(inlined->version) + NamesOf(inlined->onward);
  }
  if (const auto* grant = std::get_if<Grant>(&body)) {
    grants_[to] = grant->grant;
    std::string words = to + " <- " + grant->source.name;
    if (grant->stripes != layout_.all_stripes()) words += fmt::format(" {{{}}}", grant->stripes);
    if (!grant->equality_ok) words += " strict";
    if (grant->replaces) words += " moved";
    return words;
  }
  if (const auto* recall = std::get_if<Recall>(&body)) {
    return to + ": recall " + Number(recall->version);
  }
  if (const auto* deleted = std::get_if<Deleted>(&body)) {
    marks_[to] = deleted->version;
    return to + ": deleted";
  }
  if (const auto* answer = std::get_if<EvictAnswer>(&body)) {
    return to + (answer->drop ? ": drop" : ": keep");
  }
  if (const auto* lost = std::get_if<HolderLost>(&body))
    return to + ": lost " + lost->loss.node_name;
  if (std::string words = WordsOfReduction(to, body); !words.empty()) return words;
  if (std::holds_alternative<InlineFull>(body)) return to + ": inline full";
  if (const auto* take = std::get_if<TakeCopy>(&body)) {
    return fmt::format("{}: takes a copy {}", to, Number(take->version));
  }
  if (const auto* give = std::get_if<GiveCopy>(&body)) {
    return fmt::format("{}: gives {}{}", to, Number(give->version), NamesOf(give->onward));
  }
  if (const auto* answer = std::get_if<OwnerAnswer>(&body)) {
    const char* results[] = {"", "ok", "deleted", "limit"};
    return fmt::format("{}: owner {} {}", to, answer->number,
                       results[static_cast<int>(answer->result)]);
  }
  if (std::holds_alternative<EverOwned>(body)) return to + ": ever owned";
  if (const auto* unowned = std::get_if<Unowned>(&body)) {
    return fmt::format("{}: unowned {}", to, unowned->number);
  }
  const auto& location = std::get<Location>(body);
  const char* kinds[] = {"", "partial", "complete", "gone", "inline"};
  return fmt::format("{}: {} {}", to, location.node_name.empty() ? "it" : location.node_name,
                     kinds[static_cast<int>(location.kind)]);
}

std::string Scenario::WordsOfReduction(const std::string& to, const NodeAction& body) {
  if (std::holds_alternative<ReduceOpened>(body)) return to + ": opened";
  if (const auto* refused = std::get_if<ReduceRefused>(&body)) {
    last_message_ = refused->message;
    return fmt::format("{}: reduction refused {}", to, Name(refused->code));
  }
  if (const auto* lost = std::get_if<SlotLost>(&body)) {
    last_message_ = lost->message;
    return fmt::format("{}: lost slot {}", to, lost->slot);
  }
  if (const auto* committed = std::get_if<ReduceCommitted>(&body)) {
    return fmt::format("{}: committed {} of {}", to, Number(committed->version),
                       committed->used.size());
  }
  if (const auto* assigned = std::get_if<SlotAssigned>(&body)) {
    slots_[{to, assigned->order.slot}] = assigned->version;
    return fmt::format("{}: slot {} {}", to, assigned->order.slot, Number(assigned->version));
  }
  if (const auto* feed = std::get_if<SlotFeed>(&body)) {
    feeds_[{to, feed->slot, feed->input}] = feed->input_version;
    std::string words = fmt::format("{}: {} pulls {} from {} {}", to, feed->slot, feed->input,
                                    feed->source.name, Number(feed->input_version));
    if (feed->stripes != layout_.all_stripes()) words += fmt::format(" {{{}}}", feed->stripes);
    return words;
  }
  if (const auto* dropped = std::get_if<SlotDropped>(&body)) {
    return fmt::format("{}: drops {} {}", to, dropped->slot, Number(dropped->version));
  }
  if (const auto* aborted = std::get_if<TargetAborted>(&body)) {
    last_message_ = aborted->message;
    const std::string words = fmt::format("{}: aborted {}", to, Name(aborted->code));
    return aborted->question == 0 ? words : fmt::format("{} to {}", words, aborted->question);
  }
  return {};
}

void Scenario::TearDown() {
  for (const auto& [node, name] : names_) {
    state_->Apply({now_, NodeLost{node}});
    EXPECT_EQ(state_->BrokenInvariant(), "");
  }
  Now().Ignore();
  After(std::chrono::hours(1));
  // Bytes inside the directory outlive their putter: only a Delete ends them.
  for (const ObjectView& left : state_->Objects()) EXPECT_TRUE(left.inlined);
  EXPECT_TRUE(state_->Nodes(now_).empty());
  EXPECT_EQ(next_, kNever);
  Expect();
}

}  // namespace hoplite::planner
