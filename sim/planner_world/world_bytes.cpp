// World: copies, streams and bytes.
#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

constexpr Duration kReportEvery = std::chrono::milliseconds(30);
constexpr Duration kHeldBehind = std::chrono::milliseconds(100);
constexpr Duration kHeldUnknown = std::chrono::milliseconds(300);
// A node that starves for so long, because no node has the object whole any more, stops saying so.
// A real node says it for ever, but then no history would come to rest.
constexpr Duration kReportedLongEnough = std::chrono::seconds(10);

}  // namespace

// A node without memory or descriptors, or that can't connect, says nothing: one of eight is lost.
void World::HandOn(NodeIndex from, const protocol::HandedOn& give) {
  const NodeIndex to = IndexOf(give.to.id);
  const std::uint64_t fate = random_.Below(8);
  if (fate == 0 || !HasWay(to, from)) return;
  const Duration late = fate == 1 ? random_.Within(std::chrono::milliseconds(40)) : Duration{0};
  At(network_.Awake(to, now_ + options_.latency + late), [this, to, give] {
    if (!members_[to].alive) return;
    Effects effects;
    members_[to].node.HearGive(give.given, effects);
    Do(to, effects);
  });
}

void World::Do(NodeIndex index, const Effects& effects) {
  for (const GrantId& grant : effects.end) EndStream(index, grant);
  if (effects.copy_gone) {
    UnfoldParts(index);
    EndOutgoing(index, [this](NodeIndex receiver, GrantId grant) {
      FailStream(receiver, grant, protocol::Failure::kNone);
    });
    SetMarks(index, false, 0);
  }
  for (const protocol::NodeEvent& event : effects.say) {
    Tell(planner::NodeSaid{members_[index].node.id(), event});
  }
  for (const protocol::HandedOn& give : effects.give) HandOn(index, give);
  for (const Fetch& fetch : effects.open) {
    At(network_.Awake(IndexOf(fetch.source), now_ + options_.latency),
       [this, index, fetch] { FetchArrives(index, fetch, now_); });
    StartReporting(index);
  }
  if (effects.fill) Fill(index);
  if (effects.reserve) Reserve(index);
  NoteWhole(index);
  Member& member = members_[index];
  Fail(witness_.Check(member.node));
  if (member.node.got() == 0 || member.returned) return;
  member.returned = now_;
  if (reduction_ && !reduction_->witness.was_committed(member.node.got_version())) {
    Fail(fmt::format("P7: n{} returned a version that was not committed", index));
  }
}

void World::Reserve(NodeIndex index) {
  const Time free = members_[index].memory_free;
  if (free > now_) {
    At(free, [this, index] { Reserve(index); });
    return;
  }
  if (!members_[index].alive) return;
  Effects effects;
  members_[index].node.MemoryReserved(effects);
  Do(index, effects);
}

void World::Fill(NodeIndex index) {
  if (options_.put_time.count() > 0) {
    SetMarks(index, false, members_[index].node.copy()->content[0]);
    const double seconds = ToSeconds(options_.put_time);
    network_.Produce(now_, index, static_cast<double>(layout_.size_bytes) / seconds);
    return;
  }
  SetMarks(index, true, members_[index].node.copy()->content[0]);
  SyncMarks(index);
  Effects effects;
  members_[index].node.Produced(effects);
  Do(index, effects);
}

void World::SetMarks(NodeIndex index, bool full, Content content) {
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    network_.SetMark(now_, index, s, full ? layout_.stripe_block_count(s) : 0, content);
  }
}

// Tells the node how far its copy is.
void World::SyncMarks(NodeIndex index) {
  VirtualNode& node = members_[index].node;
  if (!node.copy() || node.copy()->complete) return;
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    const FlowId flow = network_.Feeding(index, s);
    if (flow == kNoFlow && (node.copy()->produces >> s & 1) == 0) continue;
    // A source that dropped its copy has none; what came before counts.
    const Content comes = flow == kNoFlow ? 0 : network_.TagOf(flow);
    const Content content = comes == 0 ? node.copy()->content[s] : comes;
    if (content == 0) continue;  // nothing has come yet
    const std::string_view broken = node.Received(s, network_.Blocks(now_, index, s), content);
    if (!broken.empty()) Fail(fmt::format("{} (n{})", broken, index));
  }
}

// A source that is not ahead holds the fetch for a while (R7). So does one to which no word of the
// version has come (R49), which matters where many have a root each: the others ask them at once.
bool World::Holds(NodeIndex source, const Fetch& fetch, protocol::Failure why, Time since) const {
  if (why == protocol::Failure::kNotAhead) return now_ < since + kHeldBehind;
  const auto& copy = members_[source].node.copy();
  const bool overtook = why == protocol::Failure::kUnknown && options_.reduce &&
                        options_.reduce->everyone_reads && (!copy || copy->version < fetch.version);
  return overtook && now_ < since + kHeldUnknown;
}

void World::FetchArrives(NodeIndex receiver, const Fetch& fetch, Time since) {
  const NodeIndex source = IndexOf(fetch.source);
  const Member& asker = members_[receiver];
  if (!asker.alive || !asker.node.streams().contains(fetch.grant)) return;
  protocol::Failure answer = protocol::Failure::kUnreachable;
  if (members_[source].alive && !cuts_.Has(receiver, source)) {
    SyncMarks(source);
    answer = members_[source].node.Answer(fetch);
  }
  if (answer == protocol::Failure::kNone) return Accept(receiver, fetch, source);
  if (Holds(source, fetch, answer, since)) {
    return After(options_.latency, [=, this] { FetchArrives(receiver, fetch, since); });
  }
  After(options_.latency,
        [this, receiver, grant = fetch.grant, answer] { FailStream(receiver, grant, answer); });
}

void World::Accept(NodeIndex receiver, const Fetch& fetch, NodeIndex source) {
  const auto together = static_cast<std::uint32_t>(std::popcount(fetch.stripes));
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    if ((fetch.stripes >> s & 1) == 0) continue;
    if (PullsFrom(source, receiver, s)) {
      Fail(fmt::format("P2: n{} pulls from n{}, which pulls from it", receiver, source));
    }
    if ((members_[receiver].node.copy()->produces >> s & 1) != 0) {
      return Fail(fmt::format("P2: n{} pulls a stripe that it makes itself", receiver));
    }
    const FlowId flow = network_.Open(now_, source, receiver, s, together);
    grants_.resize(flow + 1);
    grants_[flow] = fetch.grant;
    members_[receiver].depths[s] = members_[source].depths[s] + 1;
  }
  members_[receiver].flowing = now_;
}

// Whether `source` depends on `receiver`, directly or not.
bool World::PullsFrom(NodeIndex source, NodeIndex receiver, std::uint32_t stripe) const {
  NodeIndex node = source;
  while (node != receiver) {
    const FlowId flow = network_.Feeding(node, stripe);
    if (flow == kNoFlow) return false;
    node = network_.SourceOf(flow);
  }
  return true;
}

void World::FailStream(NodeIndex receiver, GrantId grant, protocol::Failure why) {
  if (!members_[receiver].alive) return;
  SyncMarks(receiver);
  Effects effects;
  members_[receiver].node.StreamFailed(grant, why, effects);
  Do(receiver, effects);
}

void World::EndStream(NodeIndex receiver, GrantId grant) {
  std::erase_if(end_waits_, [&](const EndWait& wait) {
    return wait.receiver == receiver && wait.grant == grant;
  });
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    const FlowId flow = network_.Feeding(receiver, s);
    if (flow != kNoFlow && grants_[flow] == grant) network_.Close(now_, flow);
  }
}

// What the receiver pulls from the source fails on its way.
void World::BreakBetween(NodeIndex receiver, NodeIndex source) {
  std::set<GrantId> grants;
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    const FlowId flow = network_.Feeding(receiver, s);
    if (flow == kNoFlow || network_.SourceOf(flow) != source) continue;
    network_.Break(now_, flow);
    grants.insert(grants_[flow]);
  }
  std::erase_if(end_waits_, [&](const EndWait& wait) {
    const bool cut = wait.source == source && wait.receiver == receiver;
    if (cut) grants.insert(wait.grant);
    return cut;
  });
  for (const GrantId& grant : grants) {
    After(options_.latency, [=, this] { FailStream(receiver, grant, protocol::Failure::kBroken); });
  }
}

// All streams that this node serves stop; one latency later their receivers hear of it.
void World::EndOutgoing(NodeIndex source, std::function<void(NodeIndex, GrantId)> tell) {
  std::set<std::pair<NodeIndex, GrantId>> streams;
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    for (const FlowId flow : network_.Outgoing(source, s)) {
      network_.Break(now_, flow);
      streams.emplace(network_.ReceiverOf(flow), grants_[flow]);
    }
  }
  std::erase_if(end_waits_, [&](const EndWait& wait) {
    if (wait.source == source) streams.emplace(wait.receiver, wait.grant);
    return wait.source == source;
  });
  for (const auto& [receiver, grant] : streams) {
    After(options_.latency, [this, tell, receiver, grant] {
      if (members_[receiver].alive) tell(receiver, grant);
    });
  }
}

void World::OnWhole(const Network::Whole& whole) {
  if (OnSlotWhole(whole)) return;
  Member& member = members_[whole.node];
  if (!member.alive || !member.node.copy()) return;
  const bool own = whole.flow == kNoFlow;
  const Content content =
      own ? member.node.copy()->content[whole.stripe] : network_.TagOf(whole.flow);
  const std::string_view broken =
      member.node.Received(whole.stripe, layout_.stripe_block_count(whole.stripe), content);
  if (!broken.empty()) Fail(fmt::format("{} (n{})", broken, whole.node));
  if (!own) return StripeArrived(whole, network_.SourceOf(whole.flow));
  Effects effects;
  if (whole.stripe + 1 == layout_.stripe_count) member.node.Produced(effects);
  Do(whole.node, effects);
}

void World::StartReporting(NodeIndex index) {
  if (members_[index].reporting) return;
  members_[index].reporting = true;
  members_[index].flowing = now_;
  network_.InflowOf(now_, index);  // from now on
  After(kReportEvery, [this, index] { Report(index); });
}

void World::Report(NodeIndex index) {
  Member& member = members_[index];
  const Time awake = network_.Awake(index, now_);
  if (awake > now_) return At(awake, [this, index] { Report(index); });
  member.reporting = false;
  if (!member.alive || member.node.streams().empty()) return;
  SyncMarks(index);
  const Network::Inflow inflow = network_.InflowOf(now_, index);
  if (inflow.flows) member.flowing = now_;
  if (member.node.connected()) {
    const auto rate = static_cast<std::uint64_t>(inflow.node_rate);
    protocol::Progress report = member.node.ProgressReport(rate);
    report.starved_for = now_ - member.flowing;
    report.at = now_;
    Tell(planner::NodeSaid{member.node.id(), report});
  }
  const Time flowing = member.flowing;
  if (now_ - flowing > kReportedLongEnough) return;
  StartReporting(index);
  member.flowing = flowing;
}

}  // namespace hoplite::sim
