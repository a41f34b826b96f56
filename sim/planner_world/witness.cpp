#include "sim/planner_world/witness.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/planner_world/pair_witness.h"

namespace hoplite::sim {
namespace {

const Party* Find(std::span<const Party> parties, NodeId id) {
  return Raw(id) - 1 < parties.size() ? &parties[Raw(id) - 1] : nullptr;
}

bool HasIt(const Party& party) {
  if (!party.alive || !party.node->copy()) return false;
  return party.node->copy()->complete || party.node->copy()->produces != 0;
}

// Checks a node to which nothing happens any more. If the last whole copy was lost, streams between
// nodes that have a part stay open until the object is put again.
std::string CheckParty(const Party& party, bool someone_has_it) {
  const VirtualNode& node = *party.node;
  const std::string name = NameOf(node.id());
  if (!node.streams().empty() && (someone_has_it || !node.waiting())) {
    return fmt::format("P10: {} has a stream that never ends", name);
  }
  if (node.putting()) return fmt::format("P9: the Put of {} has no answer", name);
  if (node.waiting() && someone_has_it) {
    return fmt::format("P9: {} waits although the object is there", name);
  }
  return {};
}

// A node that follows the object's places must know them.
std::string CheckSubscribers(const protocol::ObjectView& view, std::span<const Party> parties) {
  std::set<NodeId> whole;
  for (const protocol::HolderView& holder : view.holders) {
    if (holder.complete) whole.insert(holder.node);
  }
  for (const Party& party : parties) {
    if (!party.alive || !party.node->subscribed() || party.node->places() == whole) continue;
    return fmt::format("P9: {} was told of {} places of the object where {} are",
                       NameOf(party.node->id()), party.node->places().size(), whole.size());
  }
  return {};
}

std::string CheckWaiters(const protocol::ObjectView& view, std::span<const Party> parties) {
  for (const Party& party : parties) {
    const NodeId id = party.node->id();
    const bool known = std::ranges::count(view.waiters, id, &protocol::WaiterView::node) != 0 ||
                       std::ranges::count(view.transfers, id, &protocol::TransferView::to) != 0;
    const bool waits = party.alive && party.node->waiting();
    if (waits && !known) return fmt::format("P9: the directory forgot that {} waits", NameOf(id));
    if (known && !waits) {
      return fmt::format("P10: the directory keeps {} as a waiter that waits no more", NameOf(id));
    }
  }
  return {};
}

}  // namespace

void Witness::Told(const planner::EventBody& event) {
  if (const auto* joined = std::get_if<planner::NodeJoined>(&event)) {
    sessions_[joined->node.id] = Session::kOpen;
  } else if (const auto* suspended = std::get_if<planner::NodeSuspended>(&event)) {
    sessions_[suspended->node] = Session::kSuspended;
  } else if (const auto* lost = std::get_if<planner::NodeLost>(&event)) {
    sessions_[lost->node] = Session::kLost;
    whole_.erase(lost->node);
  } else if (const auto* said = std::get_if<planner::NodeSaid>(&event)) {
    const auto* held = std::get_if<protocol::Held>(&said->event);
    const auto* complete = std::get_if<protocol::CopyComplete>(&said->event);
    const auto* gone = std::get_if<protocol::CopyGone>(&said->event);
    if (held != nullptr && held->complete) whole_[said->node] = held->version;
    if (complete != nullptr) whole_[said->node] = complete->version;
    if (gone != nullptr) whole_.erase(said->node);
  }
}

bool Witness::AnotherHasIt(NodeId than, const Version& version) const {
  return std::ranges::any_of(whole_, [&](const auto& one) {
    return one.first != than && one.second >= version && SessionOf(one.first) == Session::kOpen;
  });
}

void Witness::DirectoryRestarted() {
  sessions_.clear();
  whole_.clear();
  deleted_ = {};
}

Witness::Session Witness::SessionOf(NodeId id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? Session::kNone : found->second;
}

std::string Witness::Check(const planner::Action& action) {
  if (std::holds_alternative<protocol::Deleted>(action.body)) {
    if (!contents_.empty()) deleted_ = std::max(deleted_, contents_.rbegin()->first);
  } else if (const auto* located = std::get_if<protocol::Located>(&action.body)) {
    if (WasDeleted(located->version)) return "P5: a deleted version is located";
  } else if (const auto* object = std::get_if<protocol::InlineObject>(&action.body)) {
    if (WasDeleted(object->version)) return "P5: the bytes of a deleted version are handed out";
    // Readers may hear of a Put before its node does.
    contents_.emplace(object->version, std::stoull(*object->bytes));
  } else if (const auto* grant = std::get_if<protocol::Grant>(&action.body)) {
    return CheckGrant(*grant, action.to);
  } else if (const auto* answer = std::get_if<protocol::EvictAnswer>(&action.body)) {
    const auto known = whole_.find(action.to);
    if (!answer->drop || known == whole_.end() || known->second != answer->version) return {};
    const bool last = !WasDeleted(answer->version) && !AnotherHasIt(action.to, answer->version);
    if (last) return fmt::format("P9: {} is told to drop the last copy", NameOf(action.to));
    whole_.erase(known);
  }
  return {};
}

std::string Witness::CheckGrant(const protocol::Grant& grant, NodeId to) const {
  if (WasDeleted(grant.version)) return "P5: a deleted version is granted";
  if (grant.source.id == to) return fmt::format("P2: {} is granted to itself", NameOf(to));
  if (SessionOf(grant.source.id) != Session::kOpen) {
    return fmt::format("P4: {} is granted although its session ended", NameOf(grant.source.id));
  }
  return {};
}

std::string Witness::Check(const VirtualNode& node) {
  const auto& copy = node.copy();
  if (!node.complaint().empty()) {
    return fmt::format("{} ({})", node.complaint(), NameOf(node.id()));
  }
  if (copy && copy->own) {
    const auto [known, added] = contents_.emplace(copy->version, copy->content[0]);
    if (!added && known->second != copy->content[0]) {
      return fmt::format("P3: the Put of {} has the version of another one", NameOf(node.id()));
    }
  }
  if (node.got() == 0) return {};
  const auto put = contents_.find(node.got_version());
  const bool other = put == contents_.end() || put->second != node.got();
  bool mixed = false;
  if (copy && copy->complete && copy->version == node.got_version()) {
    for (std::size_t stripe = 0; stripe < copy->marks.size(); ++stripe) {
      mixed |= copy->marks[stripe] > 0 && copy->content[stripe] != node.got();
    }
  }
  if (!other && !mixed) return {};
  return fmt::format("P3: {} returned bytes of two versions", NameOf(node.id()));
}

std::string Witness::CheckNow(const planner::DirectoryState& directory,
                              std::span<const Party> parties) const {
  if (std::string broken = directory.BrokenInvariant(); !broken.empty()) return broken;
  const auto view = directory.Find(object_);
  if (!view) return {};
  for (const protocol::HolderView& holder : view->holders) {
    const Party* party = Find(parties, holder.node);
    if (party == nullptr || SessionOf(holder.node) == Session::kLost) {
      return fmt::format("P4: {} is a holder although it was lost", NameOf(holder.node));
    }
    if (party->alive && !party->has_memory) {
      return fmt::format("P4: {} is a holder although it waits for memory", NameOf(holder.node));
    }
  }
  std::map<NodeId, std::size_t> waits;
  for (const protocol::WaiterView& waiter : view->waiters) {
    if (++waits[waiter.node] > 1) return fmt::format("P8: {} waits twice", NameOf(waiter.node));
  }
  std::map<NodeId, std::size_t> grants;
  for (const protocol::TransferView& transfer : view->transfers) {
    if (++grants[transfer.to] > kMaxStripes) {
      return fmt::format("P8: more grants for {} than stripes", NameOf(transfer.to));
    }
  }
  return {};
}

std::string Witness::CheckAtRest(const planner::DirectoryState& directory,
                                 std::span<const Party> parties) const {
  if (std::string broken = CheckNow(directory, parties); !broken.empty()) return broken;
  const bool someone_has_it = std::ranges::any_of(parties, HasIt);
  for (const Party& party : parties) {
    if (!party.alive) continue;
    if (std::string broken = CheckParty(party, someone_has_it); !broken.empty()) return broken;
    if (party.node->copy() && WasDeleted(party.node->copy()->version)) {
      return fmt::format("P5: {} still has the deleted object", NameOf(party.node->id()));
    }
  }
  const auto view = directory.Find(object_);
  if (view && someone_has_it && !view->transfers.empty()) {
    const protocol::TransferView& left = view->transfers.front();
    return fmt::format("P10: the grant of {} from {} is left", NameOf(left.to), NameOf(left.from));
  }
  const protocol::ObjectView seen = view.value_or(protocol::ObjectView{});
  if (std::string broken = CheckSubscribers(seen, parties); !broken.empty()) return broken;
  return CheckWaiters(seen, parties);
}

void Witness::AddTo(Digest& digest) const {
  for (const auto& [node, session] : sessions_) digest.Add(node).Add(session);
  for (const auto& [node, version] : whole_) digest.Add(node).Add(version);
  for (const auto& [version, content] : contents_) digest.Add(version).Add(content);
  digest.Add(deleted_);
}

}  // namespace hoplite::sim
