#include "sim/planner_world/virtual_node.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace hoplite::sim {
namespace {

// The model of an object's bytes: the name of its content, filled up to the size.
planner::InlineBytes BytesOf(Content content, std::uint64_t size) {
  std::string bytes = std::to_string(content);
  bytes.resize(size, ' ');
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace

using planner::Outcome;

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
  planner::Create create{.object = object_, .layout = put_->layout};
  if (put_->inlined) create.inline_bytes = BytesOf(put_->content, put_->layout.size_bytes);
  Say(create, out);
}

void VirtualNode::Delete(Effects& out) {
  deleting_ = true;
  Say(planner::Delete{object_}, out);
}

void VirtualNode::Cancel(Effects& out) {
  if (!std::exchange(getting_, false)) return;
  if (std::exchange(locating_, false)) Say(planner::CancelLocate{object_}, out);
  located_.reset();
  if (!copy_ || copy_->complete || copy_->own) return;
  Say(planner::CancelWant{object_, copy_->version}, out);
  EndAllStreams(out);
  Say(planner::CopyGone{object_, copy_->version, planner::GoneReason::kDropped}, out);
  copy_.reset();
  out.copy_gone = Effects::Gone::kMoved;
}

void VirtualNode::Evict(Effects& out) {
  const bool relayed = copy_ && copy_->complete && !copy_->own && !copy_->primary;
  if (relayed) Say(planner::EvictAsk{object_, copy_->version}, out);
}

void VirtualNode::Subscribe(Effects& out) {
  subscribed_ = true;
  Say(planner::Subscribe{object_}, out);
}

void VirtualNode::Disconnected() {
  connected_ = false;
  places_.clear();  // the next session tells them all
}

void VirtualNode::Hear(const planner::NodeAction& action, Time now, Effects& out) {
  if (const auto* accepted = std::get_if<planner::CreateAccepted>(&action)) HearOne(*accepted, out);
  if (const auto* refused = std::get_if<planner::CreateRefused>(&action)) HearOne(*refused);
  if (const auto* located = std::get_if<planner::Located>(&action)) HearOne(*located, out);
  if (const auto* object = std::get_if<planner::InlineObject>(&action)) HearOne(*object);
  if (const auto* grant = std::get_if<planner::Grant>(&action)) HearOne(*grant, out);
  if (const auto* recall = std::get_if<planner::Recall>(&action)) HearOne(*recall, out);
  if (const auto* deleted = std::get_if<planner::Deleted>(&action)) HearOne(*deleted, now, out);
  if (const auto* aborted = std::get_if<planner::TargetAborted>(&action)) HearOne(*aborted, out);
  if (const auto* answer = std::get_if<planner::EvictAnswer>(&action)) HearOne(*answer, out);
  if (const auto* location = std::get_if<planner::Location>(&action)) HearOne(*location);
}

void VirtualNode::HearOne(const planner::CreateAccepted& accepted, Effects& out) {
  if (!put_) {
    complaint_ = "a Create was accepted that this node did not make";
    return;
  }
  if (copy_) DropRecalledCopy(out);
  located_.reset();
  highest_incarnation_ = std::max(highest_incarnation_, accepted.version.incarnation);
  copy_ = Copy{.version = accepted.version,
               .layout = put_->layout,
               .marks = put_->layout.empty_marks(),
               .content = std::vector<Content>(put_->layout.stripe_count, put_->content),
               .producing = true,
               .own = true};
  copy_inlined_ = put_->inlined;
  put_.reset();
  out.fill = true;
}

void VirtualNode::MakeTarget(const Version& version, const Layout& layout, Content content,
                             Effects& out) {
  if (copy_) DropRecalledCopy(out);
  located_.reset();
  highest_incarnation_ = std::max(highest_incarnation_, version.incarnation);
  copy_ = Copy{.version = version,
               .layout = layout,
               .marks = layout.empty_marks(),
               .content = std::vector<Content>(layout.stripe_count, content),
               .producing = true,
               .own = true,
               .folded = true};
  copy_inlined_ = false;
}

void VirtualNode::TargetCommitted(Effects& out) {
  if (!copy_ || copy_->complete) return;
  copy_->marks = copy_->layout.full_marks();
  Complete(out);
}

void VirtualNode::DropTarget(const Version& version, Effects& out) {
  if (!copy_ || copy_->version != version || copy_->complete) return;
  DropRecalledCopy(out);
  AskUnlessKnown(out);
}

void VirtualNode::HearOne(const planner::TargetAborted& /*aborted*/, Effects& out) {
  told_aborted_ = told_aborted_ || getting_;
  // Requests that wait for the target end with it, and are taken back.
  if (locating_) Say(planner::CancelLocate{object_}, out);
  if (copy_ && !copy_->own) Say(planner::CancelWant{object_, copy_->version}, out);
  Forget(out);
}

void VirtualNode::HearOne(const planner::CreateRefused& /*refused*/) {
  put_.reset();
  put_refused_ = true;
}

void VirtualNode::HearOne(const planner::Located& located, Effects& out) {
  locating_ = false;
  highest_incarnation_ = std::max(highest_incarnation_, located.version.incarnation);
  if (!getting_) return;
  if (copy_ && copy_->version < located.version) DropRecalledCopy(out);
  if (copy_) return;
  located_ = located.version;
  layout_ = located.layout;
  out.reserve = true;
}

void VirtualNode::MemoryReserved(Effects& out) {
  if (!located_) return;  // recalled or deleted meanwhile
  copy_ = Copy{.version = *located_,
               .layout = layout_,
               .marks = layout_.empty_marks(),
               .content = std::vector<Content>(layout_.stripe_count)};
  located_.reset();
  wanted_ = copy_->version;
  Say(planner::Want{object_, copy_->version, copy_->marks}, out);
}

void VirtualNode::HearOne(const planner::InlineObject& object) {
  locating_ = false;
  highest_incarnation_ = std::max(highest_incarnation_, object.version.incarnation);
  if (getting_) Return(std::stoull(*object.bytes), object.version);
}

void VirtualNode::HearOne(const planner::Grant& grant, Effects& out) {
  if (wanted_ < grant.version) complaint_ = "P4: a node was granted that had not said Want";
  if (!copy_ || copy_->version != grant.version) return Close(grant, Outcome::kDeclined, out);
  const StripeMask missing = Missing(grant.stripes);
  if (missing == 0) return Close(grant, Outcome::kDone, out);
  std::vector<GrantId> old;
  for (const auto& [id, stream] : streams_) {
    if (id == grant.replaces || (stream.missing & missing) != 0) old.push_back(id);
  }
  for (const GrantId& id : old) EndStream(id, Outcome::kAbandoned, planner::Failure::kNone, out);
  streams_[grant.grant] = {grant.source.id, missing};
  out.open.push_back({.source = grant.source.id,
                      .version = grant.version,
                      .grant = grant.grant,
                      .stripes = missing,
                      .marks = copy_->marks,
                      .equality_ok = grant.equality_ok});
}

void VirtualNode::HearOne(const planner::Recall& recall, Effects& out) {
  highest_incarnation_ = std::max(highest_incarnation_, recall.version.incarnation);
  if (copy_ && copy_->version < recall.version) DropRecalledCopy(out);
  if (located_ && *located_ < recall.version) located_.reset();
  AskUnlessKnown(out);
}

void VirtualNode::HearOne(const planner::Deleted& deleted, Time now, Effects& out) {
  deleting_ = false;
  tombstone_ = now + deleted.remaining;
  deletion_ = deleted.version;
  told_deleted_ = told_deleted_ || getting_;
  places_.clear();
  Forget(out);
}

void VirtualNode::HearOne(const planner::EvictAnswer& answer, Effects& out) {
  if (!copy_ || copy_->version != answer.version) return;
  if (!answer.drop) {
    copy_->primary = true;
    return;
  }
  copy_.reset();
  out.copy_gone = Effects::Gone::kMoved;
}

void VirtualNode::HearOne(const planner::Location& location) {
  if (location.kind == planner::LocationKind::kComplete) places_.insert(location.node);
  if (location.kind == planner::LocationKind::kGone) places_.erase(location.node);
}

// The object was deleted: no copy, no waiter, no stream is left.
void VirtualNode::Forget(Effects& out) {
  EndAllStreams(out);
  if (copy_) out.copy_gone = Effects::Gone::kDeleted;
  copy_.reset();
  located_.reset();
  locating_ = false;
  getting_ = false;
}

void VirtualNode::Connected(Time now, Effects& out) {
  connected_ = true;
  if (copy_) {
    planner::Held held{.object = object_,
                       .version = copy_->version,
                       .layout = copy_->layout,
                       .marks = copy_->marks,
                       .complete = copy_->complete,
                       .producing = copy_->producing && !copy_->folded,
                       .primary = copy_->own || copy_->primary};
    if (!streams_.empty()) held.upstream = streams_.begin()->second.source;
    Say(held, out);
  }
  if (tombstone_ && *tombstone_ > now)
    Say(planner::Tombstone{object_, *tombstone_ - now, deletion_}, out);
  if (put_) SayCreate(out);
  if (locating_) Say(planner::Locate{object_}, out);
  if (copy_ && !copy_->complete && !copy_->own) {
    Say(planner::Want{object_, copy_->version, copy_->marks}, out);
  }
  if (deleting_) Say(planner::Delete{object_}, out);
  if (subscribed_) Say(planner::Subscribe{object_}, out);
  Say(planner::InventoryEnd{}, out);
  if (copy_ && copy_inlined_ && copy_->own) {
    Say(planner::HeldBytes{object_, copy_->version,
                           BytesOf(copy_->content[0], copy_->layout.size_bytes)},
        out);
  }
}

void VirtualNode::Say(planner::NodeEvent event, Effects& out) {
  // Without a session nothing can be said. The next inventory says what still matters.
  if (connected_) out.say.push_back(std::move(event));
}

void VirtualNode::AskUnlessKnown(Effects& out) {
  if (!getting_ || copy_ || located_ || locating_) return;
  locating_ = true;
  Say(planner::Locate{object_}, out);
}

void VirtualNode::Return(Content content, const Version& version) {
  getting_ = false;
  got_ = content;
  got_version_ = version;
}

void VirtualNode::AddTo(Digest& digest) const {
  digest.Add(connected_).Add(getting_).Add(locating_).Add(deleting_).Add(put_.has_value());
  digest.Add(put_refused_)
      .Add(told_deleted_)
      .Add(told_aborted_)
      .Add(got_)
      .Add(got_version_)
      .Add(wanted_);
  digest.Add(located_.value_or(Version{})).Add(highest_incarnation_).Add(copy_inlined_);
  digest.Add(tombstone_.value_or(Time{})).Add(deletion_).Add(copy_.has_value()).Add(subscribed_);
  for (const NodeId place : places_) digest.Add(place);
  if (copy_) {
    digest.Add(copy_->version)
        .Add(copy_->final)
        .Add(copy_->complete)
        .Add(copy_->producing)
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
