#include "sim/planner_world/virtual_node.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace hoplite::sim {
namespace {

// The model of an object's bytes: the name of its content, filled up to the size.
protocol::InlineBytes BytesOf(Content content, std::uint64_t size) {
  std::string bytes = std::to_string(content);
  bytes.resize(size, ' ');
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace

using protocol::Outcome;

void VirtualNode::Get(Effects& out) {
  if (copy_ && copy_->complete) return Return(copy_->content[0], copy_->version);
  getting_ = true;
  AskUnlessKnown(out);
}

void VirtualNode::Put(const Layout& layout, Content content, bool inlined, Effects& out) {
  put_ = PendingPut{layout, content, inlined};
  SayCreate(out);
}

void VirtualNode::SayCreate(Effects& out) {
  protocol::Create create{.object = object_, .layout = put_->layout};
  if (put_->inlined) create.inline_bytes = BytesOf(put_->content, put_->layout.size_bytes);
  Say(create, out);
}

void VirtualNode::Delete(Effects& out) {
  deleting_ = true;
  Say(protocol::Delete{object_}, out);
}

void VirtualNode::Cancel(Effects& out) {
  if (std::exchange(getting_, false) && !completing_ && !helping_) LeaveFlight(out);
}

void VirtualNode::StopHelping(Effects& out) {
  if (std::exchange(helping_, false) && !completing_ && !getting_) LeaveFlight(out);
}

void VirtualNode::Evict(Effects& out) {
  const bool relayed = copy_ && copy_->complete && !copy_->own && !copy_->primary;
  if (relayed) Say(protocol::EvictAsk{object_, copy_->version}, out);
}

void VirtualNode::Subscribe(Effects& out) {
  subscribed_ = true;
  Say(protocol::Subscribe{object_}, out);
}

void VirtualNode::Disconnected() {
  life_.reset();
  places_.clear();  // the next session tells them all
}

void VirtualNode::Hear(const protocol::NodeAction& action, Time now, Effects& out) {
  if (const auto* accepted = std::get_if<protocol::CreateAccepted>(&action))
    HearOne(*accepted, out);
  if (const auto* refused = std::get_if<protocol::CreateRefused>(&action)) HearOne(*refused);
  if (const auto* located = std::get_if<protocol::Located>(&action)) HearOne(*located, out);
  if (const auto* object = std::get_if<protocol::InlineObject>(&action)) HearOne(*object, out);
  if (const auto* grant = std::get_if<protocol::Grant>(&action)) HearOne(*grant, out);
  if (const auto* recall = std::get_if<protocol::Recall>(&action)) HearOne(*recall, out);
  if (const auto* deleted = std::get_if<protocol::Deleted>(&action)) HearOne(*deleted, now, out);
  if (const auto* aborted = std::get_if<protocol::TargetAborted>(&action)) HearOne(*aborted, out);
  if (const auto* answer = std::get_if<protocol::EvictAnswer>(&action)) HearOne(*answer, out);
  if (const auto* location = std::get_if<protocol::Location>(&action)) HearOne(*location);
  if (const auto* take = std::get_if<protocol::TakeCopy>(&action)) HearOne(*take, now, out);
  if (const auto* give = std::get_if<protocol::GiveCopy>(&action)) HearOne(*give, out);
}

void VirtualNode::HearOne(const protocol::CreateAccepted& accepted, Effects& out) {
  if (!put_) {
    complaint_ = "a Create was accepted that this node did not make";
    return;
  }
  LeaveFlight(out);
  DropCopy(out);
  highest_incarnation_ = std::max(highest_incarnation_, accepted.version.incarnation);
  copy_ = Copy{.version = accepted.version,
               .layout = put_->layout,
               .marks = put_->layout.empty_marks(),
               .content = std::vector<Content>(put_->layout.stripe_count, put_->content),
               .produces = put_->layout.all_stripes(),
               .own = true};
  copy_inlined_ = put_->inlined;
  put_.reset();
  out.fill = true;
}

void VirtualNode::MakeTarget(const Version& version, const Layout& layout, Content content,
                             StripeMask makes, Effects& out) {
  LeaveFlight(out);
  DropCopy(out);
  highest_incarnation_ = std::max(highest_incarnation_, version.incarnation);
  copy_ = Copy{.version = version,
               .layout = layout,
               .marks = layout.empty_marks(),
               .content = std::vector<Content>(layout.stripe_count, content),
               .produces = makes,
               .own = true,
               .folded = true};
  copy_inlined_ = false;
  if (makes != layout.all_stripes()) ReadTheRest(out);
}

// Its flight takes the copy that it makes a part of.
void VirtualNode::ReadTheRest(Effects& out) {
  completing_ = true;
  wanted_ = copy_->version;
  planner::FlightState::Effects decided;
  flight_.emplace(object_);
  if (joint_) flight_->Join({}, decided);
  flight_->Adopt({.object = object_, .version = copy_->version, .layout = copy_->layout},
                 copy_->produces);
  flight_->Receive(copy_->marks, false, Time{}, decided);
  Carry(decided, out);
}

// For who makes a part of the target the commit is the END of all streams.
void VirtualNode::TargetCommitted(Effects& out) {
  if (!copy_ || copy_->complete) return;
  if (completing_) {
    copy_->produces = 0;
    flight_->OnCommitted();
    if (StepFlight(out)) Complete(out);
    return;
  }
  copy_->marks = copy_->layout.full_marks();
  Complete(out);
}

void VirtualNode::DropTarget(const Version& version, Effects& out) {
  if (!copy_ || copy_->version != version || copy_->complete) return;
  LeaveFlight(out);
  DropCopy(out);
  AskUnlessKnown(out);
}

void VirtualNode::HearOne(const protocol::TargetAborted& aborted, Effects& out) {
  const bool made = copy_ && copy_->folded && copy_->version <= aborted.version;
  const bool ends = made || (flight_ && flight_->Ends(aborted));
  if (ends) {
    told_aborted_ = told_aborted_ || getting_;
    getting_ = false;
    LeaveFlight(out);
  }
  if (copy_ && copy_->version <= aborted.version) DropCopy(out);
}

void VirtualNode::HearOne(const protocol::CreateRefused& /*refused*/) {
  put_.reset();
  put_refused_ = true;
}

void VirtualNode::HearOne(const protocol::Located& located, Effects& out) {
  highest_incarnation_ = std::max(highest_incarnation_, located.version.incarnation);
  if (located.wanted != 0) wanted_ = std::max(wanted_, located.version);
  if (!flight_) {
    if (located.wanted != 0) Say(protocol::CancelWant{object_, located.version}, out);
    return;
  }
  planner::FlightState::Effects decided;
  const bool news = flight_->On(located, decided);
  Carry(decided, out);
  if (news && flight_->wants()) return MemoryReserved(out);
  if (news) out.reserve = true;
}

void VirtualNode::LoseRoom(Effects& out) {
  room_ = 0;
  if (!flight_) return;
  planner::FlightState::Effects decided;
  flight_->LoseRoom(decided, 0);
  Carry(decided, out);
}

void VirtualNode::MemoryReserved(Effects& out) {
  // Recalled or deleted meanwhile, perhaps located anew, and told already that there is memory.
  if (!flight_ || !flight_->located() || flight_->receiving()) return;
  const Layout& layout = flight_->located()->layout;
  copy_ = Copy{.version = flight_->located()->version,
               .layout = layout,
               .marks = layout.empty_marks(),
               .content = std::vector<Content>(layout.stripe_count)};
  wanted_ = copy_->version;
  given_.reset();
  planner::FlightState::Effects decided;
  flight_->Receive(copy_->marks, leaf_, Time{}, decided);
  Carry(decided, out);
}

void VirtualNode::HearGive(const protocol::InlineObject& given, Effects& out) {
  std::ranges::move(protocol::HandOn(given), std::back_inserter(out.give));
  planner::FlightState::Effects decided;
  const bool news = flight_ && flight_->OnHandedOn(given.number, decided);
  Carry(decided, out);
  if (news) TakeInline(given);
}

void VirtualNode::HearOne(const protocol::InlineObject& object, Effects& out) {
  std::ranges::move(protocol::HandOn(object), std::back_inserter(out.give));
  highest_incarnation_ = std::max(highest_incarnation_, object.version.incarnation);
  planner::FlightState::Effects decided;
  if (flight_ && flight_->OnGiven(object, decided)) {
    if (flight_->recalled()) {
      Carry(decided, out);
      LeaveFlight(out);
      return AskUnlessKnown(out);
    }
    given_ = std::stoull(*object.bytes);
    Carry(decided, out);
    if (flight_ && StepFlight(out)) Complete(out);
    return;
  }
  const bool news = flight_ && flight_->On(object, decided);
  Carry(decided, out);
  if (news) TakeInline(object);
}

void VirtualNode::TakeInline(const protocol::InlineObject& object) {
  flight_.reset();
  helping_ = false;
  if (getting_) Return(std::stoull(*object.bytes), object.version);
}

void VirtualNode::HearOne(const protocol::Grant& grant, Effects& out) {
  if (wanted_ < grant.version) complaint_ = "P4: a node was granted that had not said Want";
  if (!flight_) {
    return Say(protocol::GrantClosed{.object = object_,
                                     .version = grant.version,
                                     .grant = grant.grant,
                                     .outcome = Outcome::kAbandoned},
               out);
  }
  planner::FlightState::Effects decided;
  flight_->On(grant, Marks(), decided);
  Carry(decided, out);
  if (StepFlight(out)) Complete(out);
}

void VirtualNode::HearOne(const protocol::Recall& recall, Effects& out) {
  highest_incarnation_ = std::max(highest_incarnation_, recall.version.incarnation);
  if (flight_ && flight_->OnRecall(recall.version)) LeaveFlight(out);
  if (copy_ && copy_->version < recall.version) DropCopy(out);
  AskUnlessKnown(out);
}

void VirtualNode::HearOne(const protocol::Deleted& deleted, Time now, Effects& out) {
  deleting_ = false;
  tombstone_ = now + deleted.remaining;
  deletion_ = deleted.version;
  told_deleted_ = told_deleted_ || getting_;
  getting_ = false;
  places_.clear();
  if (flight_) flight_->OnDeleted();
  LeaveFlight(out);
  DropCopy(out);
}

void VirtualNode::HearOne(const protocol::EvictAnswer& answer, Effects& out) {
  if (!copy_ || copy_->version != answer.version) return;
  if (!answer.drop) {
    copy_->primary = true;
    return;
  }
  DropCopy(out);
}

void VirtualNode::HearOne(const protocol::Location& location) {
  if (location.kind == protocol::LocationKind::kComplete) places_.insert(location.node);
  if (location.kind == protocol::LocationKind::kGone) places_.erase(location.node);
}

void VirtualNode::HearOne(const protocol::TakeCopy& /*word*/, Time now, Effects& out) {
  const bool deleted = tombstone_ && *tombstone_ > now;
  if (copy_ || flight_ || put_ || deleted) return;
  helping_ = true;
  Ask(out);
}

void VirtualNode::HearOne(const protocol::GiveCopy& word, Effects& out) {
  if (!copy_ || copy_->version != word.version || !copy_->complete) return;
  const protocol::InlineObject given{.object = object_,
                                     .version = word.version,
                                     .bytes = BytesOf(copy_->content[0], copy_->layout.size_bytes),
                                     .onward = word.onward};
  std::ranges::move(protocol::HandOn(given), std::back_inserter(out.give));
}

void VirtualNode::Connected(std::uint64_t life, Time now, Effects& out) {
  life_ = life;
  if (copy_ && !leaf_) {
    protocol::Held held{.object = object_,
                        .version = copy_->version,
                        .layout = copy_->layout,
                        .marks = copy_->marks,
                        .complete = copy_->complete,
                        .primary = copy_->own || copy_->primary};
    if (!copy_->folded || completing_) held.produces = copy_->produces;
    if (flight_) held.upstreams = flight_->TellUpstreams();
    Say(held, out);
  }
  if (tombstone_ && *tombstone_ > now)
    Say(protocol::Tombstone{object_, *tombstone_ - now, deletion_}, out);
  if (put_) SayCreate(out);
  if (flight_) {
    if (auto locate = flight_->OpenLocate(0)) Say(*locate, out);
    if (auto want = flight_->OpenWant(Marks())) Say(std::move(*want), out);
  }
  if (deleting_) Say(protocol::Delete{object_}, out);
  if (subscribed_) Say(protocol::Subscribe{object_}, out);
  Say(protocol::InventoryEnd{}, out);
  if (copy_ && copy_inlined_ && copy_->own) {
    Say(protocol::HeldBytes{object_, copy_->version,
                            BytesOf(copy_->content[0], copy_->layout.size_bytes)},
        out);
  }
}

void VirtualNode::Say(protocol::NodeEvent event, Effects& out) {
  // Without a session nothing can be said. The next inventory says what still matters.
  if (life_) out.say.push_back(std::move(event));
}

void VirtualNode::AskUnlessKnown(Effects& out) {
  if (getting_ && !copy_ && !flight_) Ask(out);
}

void VirtualNode::Join(Effects& out) {
  joint_ = true;
  if (!flight_) return;
  planner::FlightState::Effects decided;
  flight_->Join(Marks(), decided);
  Carry(decided, out);
}

void VirtualNode::Ask(Effects& out) {
  planner::FlightState::Effects decided;
  flight_.emplace(object_);
  if (joint_) flight_->Join({}, decided);
  flight_->Locate(decided, {.number = ++asked_, .room = room_});
  Carry(decided, out);
}

void VirtualNode::Return(Content content, const Version& version) {
  getting_ = false;
  got_ = content;
  got_version_ = version;
}

void VirtualNode::AddTo(Digest& digest) const {
  digest.Add(room_)
      .Add(asked_)
      .Add(life_.has_value())
      .Add(getting_)
      .Add(deleting_)
      .Add(put_.has_value());
  digest.Add(helping_);
  digest.Add(put_refused_)
      .Add(told_deleted_)
      .Add(told_aborted_)
      .Add(got_)
      .Add(got_version_)
      .Add(wanted_);
  digest.Add(given_.value_or(0))
      .Add(flight_.has_value())
      .Add(highest_incarnation_)
      .Add(copy_inlined_);
  if (flight_) flight_->AddTo(digest);
  digest.Add(tombstone_.value_or(Time{})).Add(deletion_).Add(copy_.has_value()).Add(subscribed_);
  for (const NodeId place : places_) digest.Add(place);
  if (copy_) {
    digest.Add(copy_->version)
        .Add(copy_->complete)
        .Add(copy_->produces)
        .Add(copy_->own)
        .Add(copy_->primary);
    for (const std::uint32_t mark : copy_->marks) digest.Add(mark);
    for (const Content content : copy_->content) digest.Add(content);
  }
  for (const auto& [grant, stream] : streams_) {
    digest.Add(grant).Add(stream.source).Add(stream.missing);
  }
}

}  // namespace hoplite::sim
