// NetworkPart: the copies of one world's objects in a network whose links several worlds share.
//
// Decides nothing. Gives the world numbers of its own for its copies: nodes first, from 0, whatever
// else the network carries. Flows have the network's numbers. Must never: show a world what is
// another's. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "sim/planner_world/network.h"

namespace hoplite::sim {

class NetworkPart {
 public:
  explicit NetworkPart(std::shared_ptr<Network> whole) : whole_(std::move(whole)) {}

  const Network& whole() const { return *whole_; }
  // Null: this world has no such copy. Otherwise its own number.
  const NodeIndex* Mine(NodeIndex copy) const {
    return copy < mine_.size() && mine_[copy] != kNoCopy ? &mine_[copy] : nullptr;
  }

  // The world's next node is a new machine.
  NodeIndex AddNode() { return Add(whole_->AddNode()); }
  // The world's next node is that machine of the network.
  NodeIndex AddNodeAt(NodeIndex machine) { return Add(whole_->AddCopy(machine)); }
  NodeIndex AddCopy(NodeIndex node) { return Add(whole_->AddCopy(all_[node])); }

  void SetRate(NodeIndex node, double bytes_per_second) {
    whole_->SetRate(all_[node], bytes_per_second);
  }
  void SetSite(NodeIndex node, std::uint32_t site, double bytes_per_second) {
    whole_->SetSite(all_[node], site, bytes_per_second);
  }
  void SetMark(Time now, NodeIndex copy, std::uint32_t stripe, std::uint32_t blocks, Tag tag) {
    whole_->SetMark(now, all_[copy], stripe, blocks, tag);
  }
  void Produce(Time now, NodeIndex copy, double bytes_per_second) {
    whole_->Produce(now, all_[copy], bytes_per_second);
  }
  void Fold(Time now, NodeIndex copy, std::uint32_t inputs, const Network::Made& made) {
    whole_->Fold(now, all_[copy], inputs, made);
  }
  void AddInput(Time now, NodeIndex copy, NodeIndex input, StripeMask stripes) {
    whole_->AddInput(now, all_[copy], all_[input], stripes);
  }
  void Release(Time now, NodeIndex copy) { whole_->Release(now, all_[copy]); }
  void Unfold(Time now, NodeIndex copy) { whole_->Unfold(now, all_[copy]); }

  FlowId Open(Time now, NodeIndex source, NodeIndex receiver, std::uint32_t stripe,
              std::uint32_t together) {
    return whole_->Open(now, all_[source], all_[receiver], stripe, together);
  }
  void Break(Time now, FlowId flow) { whole_->Break(now, flow); }
  void Close(Time now, FlowId flow) { whole_->Close(now, flow); }

  std::uint32_t Blocks(Time now, NodeIndex copy, std::uint32_t stripe) const {
    return whole_->Blocks(now, all_[copy], stripe);
  }
  bool WholeAt(NodeIndex copy, std::uint32_t stripe) const {
    return whole_->WholeAt(all_[copy], stripe);
  }
  FlowId Feeding(NodeIndex copy, std::uint32_t stripe) const {
    return whole_->Feeding(all_[copy], stripe);
  }
  const std::vector<FlowId>& Outgoing(NodeIndex copy, std::uint32_t stripe) const {
    return whole_->Outgoing(all_[copy], stripe);
  }
  NodeIndex SourceOf(FlowId flow) const { return mine_[whole_->SourceOf(flow)]; }
  NodeIndex ReceiverOf(FlowId flow) const { return mine_[whole_->ReceiverOf(flow)]; }
  Tag TagOf(FlowId flow) const { return whole_->TagOf(flow); }
  Network::Inflow InflowOf(Time now, NodeIndex copy) { return whole_->InflowOf(now, all_[copy]); }
  Time Awake(NodeIndex copy, Time when) const { return whole_->Awake(all_[copy], when); }

 private:
  static constexpr NodeIndex kNoCopy = ~NodeIndex{0};

  NodeIndex Add(NodeIndex copy) {
    const auto own = static_cast<NodeIndex>(all_.size());
    all_.push_back(copy);
    mine_.resize(std::size_t{copy} + 1, kNoCopy);
    mine_[copy] = own;
    return own;
  }

  std::shared_ptr<Network> whole_;
  std::vector<NodeIndex> all_;   // the network's number of each copy
  std::vector<NodeIndex> mine_;  // and back
};

}  // namespace hoplite::sim
