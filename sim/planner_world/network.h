// Network: bytes of one object as fluids over links, event by event.
//
// Decides: the rate of every flow (max-min fair over the up link of its source and the down link of
// its receiver, and never more than the source itself has got) and when a stripe is whole. A flow
// between copies on one node is as fast as a link, and takes none. Is told: flows that open and
// close. Must never: let a flow read past its source's watermark, or a link carry more than its
// rate. Knows nothing of versions, grants or the directory. Not thread-safe.
//
//   source  x ........|--latency--> receiver x ........
//           ^ watermark             ^ follows what the source sent one latency ago
//
// A relay sends a block only when it has it whole, so a flow that has caught up stays one block
// behind its source and takes its source's rate: a hop costs latency + block / rate. Of stripes
// that come over one stream one block is under way at a time, so each stays behind by its share of
// one. Events happen only where a rate changes; all that falls on one nanosecond is settled at once.
//
// That is the average of a stream whose stripes are all at one stage. Where they begin at different
// places they go in turns, as real ones do (R19): the lowest block that the source has, and then the
// next one, which takes more events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/layout.h"
#include "base/time.h"
#include "sim/kit/event_queue.h"
#include "sim/planner_world/link_noise.h"

namespace hoplite::sim {

using NodeIndex = std::uint32_t;
using FlowId = std::uint32_t;
using Tag = std::uint64_t;  // what the bytes are; 0: none have come yet
inline constexpr FlowId kNoFlow = ~FlowId{0};

// How the stripes that one copy pulls from another share their stream.
enum class Stripes : std::uint8_t { kSideBySide, kInTurns };

class Network {
 public:
  Network(const Layout& layout, double bytes_per_second, Duration latency,
          Stripes stripes = Stripes::kSideBySide);

  // Before anything flows.
  void SetNoise(const Noise& noise, std::uint64_t seed);

  NodeIndex AddNode();
  // The node's links carry so much from now on, at most the rate of all.
  void SetRate(NodeIndex node, double bytes_per_second);
  // The node is in that site. What leaves a site goes over one way, which carries so much; 0: over
  // none. To be called before anything flows.
  static constexpr std::uint32_t kMostSites = 64;
  void SetSite(NodeIndex node, std::uint32_t site, double bytes_per_second);
  // One more copy on that node, over the same links; every call takes it like the node's own. Nodes
  // come first.
  NodeIndex AddCopy(NodeIndex node);
  // The node's copy of a stripe has so many valid blocks from now on, and nothing feeds it. The tag
  // goes with its bytes wherever they flow.
  void SetMark(Time now, NodeIndex node, std::uint32_t stripe, std::uint32_t blocks, Tag tag);
  // The node itself fills its copy, all stripes alike, at this rate in total.
  void Produce(Time now, NodeIndex node, double bytes_per_second);

  // The copy becomes, in these stripes, the fold of so many others on its node, which are added one
  // by one, each in stripes of its own. It grows with the slowest of them. It is whole when all of
  // them are or, if `held`, when Release is called after that, which ends the fold.
  struct Made {
    StripeMask stripes = 0;
    bool held = false;
    Tag tag = 0;
  };
  void Fold(Time now, NodeIndex copy, std::uint32_t inputs, const Made& made);
  void AddInput(Time now, NodeIndex copy, NodeIndex input, StripeMask stripes);
  void Release(Time now, NodeIndex copy);
  // The copy is no fold any more, and what it folded is gone.
  void Unfold(Time now, NodeIndex copy);

  // The receiver pulls a stripe from its own watermark on, over a stream that brings so many stripes
  // together. Nothing else may feed it.
  FlowId Open(Time now, NodeIndex source, NodeIndex receiver, std::uint32_t stripe,
              std::uint32_t together = 1);
  // The source stops; what is under way still arrives.
  void Break(Time now, FlowId flow);
  // The receiver takes nothing any more.
  void Close(Time now, FlowId flow);

  std::uint32_t Blocks(Time now, NodeIndex node, std::uint32_t stripe) const;
  // Whether the stripe's end has arrived, too. A stripe without blocks has an end as well.
  bool WholeAt(NodeIndex node, std::uint32_t stripe) const { return At(node, stripe).whole; }
  FlowId Feeding(NodeIndex node, std::uint32_t stripe) const;
  const std::vector<FlowId>& Outgoing(NodeIndex node, std::uint32_t stripe) const;
  NodeIndex SourceOf(FlowId flow) const { return flows_[flow].source; }
  NodeIndex ReceiverOf(FlowId flow) const { return flows_[flow].receiver; }
  Tag TagOf(FlowId flow) const { return flows_[flow].tag; }
  double RateInto(NodeIndex copy) const;  // bytes per second, now arriving
  // The same of all copies on the node of this one.
  double RateIntoNodeOf(NodeIndex copy) const;
  // Where links have noise: since the last question about this copy. Elsewhere: now.
  struct Inflow {
    double node_rate = 0;  // of all copies on the node, bytes per second
    bool flows = false;    // the copy got something
  };
  Inflow InflowOf(Time now, NodeIndex copy);
  // When the node of this copy goes on that may stand still at that moment.
  Time Awake(NodeIndex copy, Time when) const;
  // What the up link of this node has carried through flows that ended.
  double BytesSentBy(NodeIndex node) const { return sent_bytes_[node]; }

  Time next_event() const { return queue_.next_time(); }
  // Does everything that is due at `now`; appends each (node, stripe) that became whole.
  struct Whole {
    NodeIndex node;
    std::uint32_t stripe;
    FlowId flow;  // kNoFlow: the node produced or folded it itself
  };
  void Advance(Time now, std::vector<Whole>& whole);
  // After the last change at `now`: gives flows their new rates.
  void Settle(Time now);

  std::uint64_t events() const { return events_; }
  std::uint64_t bytes_dropped() const { return static_cast<std::uint64_t>(bytes_dropped_); }
  // Empty, or in words: P3 is broken, or a link is over its rate. O(flows).
  std::string BrokenInvariant(Time now) const;

 private:
  using LinkId = std::uint32_t;
  // One stripe of one node's copy.
  struct Inbound {
    double bytes = 0;  // at `at`
    double rate = 0;   // bytes per nanosecond
    double block = 0;  // of it, what the stream has under way, on the average
    Time at;
    bool whole = false;
    bool folded = false;   // all inputs of the fold are whole
    Time refold = kNever;  // when another input becomes the slowest
    Tag tag = 0;
    FlowId feeding = kNoFlow;
    std::vector<FlowId> outgoing;
  };
  struct Input {
    NodeIndex copy = 0;
    StripeMask stripes = 0;
  };
  struct Folding {
    Made made;  // in no stripes: it is no fold
    std::uint32_t expected = 0;
    std::vector<Input> inputs;
    NodeIndex into = kNoCopy;  // the fold that this copy is an input of

    std::vector<NodeIndex> In(std::uint32_t stripe) const;
  };
  struct Flow {
    NodeIndex source = 0;
    NodeIndex receiver = 0;
    std::uint32_t stripe = 0;
    Tag tag = 0;
    bool sending = true;    // takes part in the sharing of links
    bool receiving = true;  // feeds the receiver's copy
    double began = 0;       // position in the stripe where it was opened
    double sent = 0;        // position at `at`
    double rate = 0;
    double limit = 0;
    double weight = 1;  // beside others on a link
    Time at;
    Time wake = kNever;
    bool has_turn = false;  // in turns only, as is the next
    double turn_end = 0;
    std::uint32_t position[3] = {0, 0, 0};  // in the lists of its links
    std::uint64_t settled = 0;              // the pass that looked at it last
  };
  // The flows of one stream: at most one has its turn.
  struct Stream {
    std::vector<FlowId> flows;
    FlowId turn = kNoFlow;
  };
  enum class Kind : std::uint8_t {
    kWake,
    kRateArrives,
    kBlockArrives,
    kWholeArrives,
    kProduced,
    kRefold,
    kFolded,
    kNoise
  };
  struct Event {
    Kind kind;
    FlowId flow;               // of kProduced, kRefold and kFolded: the copy; of kNoise: the link
    double rate = 0;           // of kBlockArrives: the position where it ends
    std::uint32_t stripe = 0;  // of kRefold
  };

  static constexpr NodeIndex kNoCopy = ~NodeIndex{0};

  // Ways out of sites come first, then an up and a down link for each node.
  double Capacity(LinkId link) const { return noise_ ? noise_->Carries(link) : OwnRate(link); }
  double OwnRate(LinkId link) const {
    if (link < kMostSites) return ways_[link];
    const auto own = own_capacity_.find((link - kMostSites) / 2);
    return own == own_capacity_.end() ? capacity_ : own->second;
  }
  LinkId UpOf(NodeIndex copy) const { return kMostSites + 2 * node_of_[copy]; }
  LinkId UpLink(const Flow& flow) const { return UpOf(flow.source); }
  LinkId DownLink(const Flow& flow) const { return UpOf(flow.receiver) + 1; }
  std::uint32_t SiteOf(NodeIndex copy) const {
    const auto site = site_of_.find(node_of_[copy]);
    return site == site_of_.end() ? 0 : site->second;
  }
  // Its up link and its down link, and the way that it takes out of a site.
  struct LinksOfFlow {
    LinkId ids[3];
    int count;
    const LinkId* begin() const { return ids; }
    const LinkId* end() const { return ids + count; }
  };
  LinksOfFlow LinksOf(const Flow& flow) const {
    const std::uint32_t from = SiteOf(flow.source);
    const bool leaves = !site_of_.empty() && from != SiteOf(flow.receiver) && ways_[from] > 0;
    return {{UpLink(flow), DownLink(flow), from}, leaves ? 3 : 2};
  }
  bool StaysOnNode(const Flow& flow) const {
    return node_of_[flow.source] == node_of_[flow.receiver];
  }
  Inbound& At(NodeIndex node, std::uint32_t stripe) { return inbound_[node * stripes_ + stripe]; }
  const Inbound& At(NodeIndex node, std::uint32_t stripe) const {
    return inbound_[node * stripes_ + stripe];
  }
  double Valid(Time now, const Inbound& inbound, std::uint32_t stripe) const;
  double Sent(Time now, const Flow& flow) const;
  double Available(Time now, const Flow& flow) const;

  void AddLinks(std::size_t count);
  void Touch(LinkId link);
  void Unlink(Flow& flow);
  std::uint32_t& PositionIn(Flow& flow, LinkId link);
  void SetInboundRate(Time now, Inbound& inbound, std::uint32_t stripe, double rate);
  void SetWhole(Time now, NodeIndex node, std::uint32_t stripe);
  void InputChanged(Time now, NodeIndex copy, std::uint32_t stripe);
  void Refold(Time now, NodeIndex copy, std::uint32_t stripe);
  void RefoldBlocks(Time now, NodeIndex copy, std::uint32_t stripe);
  StripeMask EndFold(NodeIndex copy);
  void SetFolded(Time now, NodeIndex copy, std::uint32_t stripe);
  void Wake(Time now, FlowId id);
  void StopSending(Time now, FlowId id);
  void RateArrives(Time now, const Flow& flow, double rate);

  // Turns (network_turns.cpp).
  bool in_turns() const { return turns_ == Stripes::kInTurns; }
  Stream& StreamOf(const Flow& flow) { return streams_[{flow.source, flow.receiver}]; }
  double TurnEnd(const Flow& flow) const;
  bool HasBlock(Time now, const Flow& flow) const;
  void JoinStream(Time now, FlowId id);
  void LeaveStream(Time now, FlowId id);
  void GiveTurn(Time now, Stream& stream);
  void EndTurn(Time now, FlowId id);
  void BlockArrives(Time now, const Event& event);
  // What has grown may be sent.
  void Offer(Time now, NodeIndex copy, std::uint32_t stripe);

  // Noise (network_noise.cpp).
  void SettleNoise(Time now);
  struct Growing {
    std::size_t flow;  // of the component
    double part;
    double limit;
  };
  void HoldBack(Time now);
  void LookAgain(Time now);
  // Before the flow's rate becomes this one.
  void NoteRate(Time now, const Flow& flow, double rate);

  void SettleComponent(Time now, LinkId start);
  void Collect(Time now, LinkId start);
  double Limit(Time now, const Flow& flow) const;
  void ShareLinks();
  void Apply(Time now, FlowId id, double rate);
  Time NextWake(Time now, const Flow& flow) const;

  Layout layout_;
  std::uint32_t stripes_;
  Stripes turns_;
  double capacity_;  // of a link, in bytes per nanosecond, unless its node has another rate
  double most_;      // that a flow gets from any link
  std::map<NodeIndex, double> own_capacity_;
  std::map<NodeIndex, std::uint32_t> site_of_;  // by node
  std::vector<double> ways_;                    // out of each site
  // Positions closer than this count as equal: it is what passes in a few nanoseconds.
  double slack_;
  Duration latency_;
  std::vector<double> stripe_bytes_;
  std::vector<NodeIndex> node_of_;  // by copy; the first ones are the nodes' own
  std::vector<Folding> foldings_;   // by copy
  std::vector<Whole> folded_;       // since the last Advance
  std::vector<Inbound> inbound_;
  std::vector<Flow> flows_;
  std::map<std::pair<NodeIndex, NodeIndex>, Stream> streams_;  // by source and receiver
  std::vector<std::vector<FlowId>> link_flows_;
  std::vector<std::vector<NodeIndex>> copies_on_;  // by node
  std::vector<double> sent_bytes_;                 // by node
  EventQueue<Event> queue_;
  std::optional<LinkNoise> noise_;
  struct Question {
    Time at;
    double carried = 0;  // by the node's down link
    double bytes = 0;    // that the copy had
  };
  std::map<NodeIndex, Question> questions_;  // about each copy
  std::uint64_t events_ = 0;
  double bytes_dropped_ = 0;

  // Used within one Settle.
  std::vector<LinkId> touched_;
  std::vector<bool> is_touched_;
  std::uint64_t pass_ = 0;
  std::vector<std::uint64_t> link_pass_;
  std::vector<LinkId> component_links_;
  std::vector<FlowId> component_flows_;
  struct Share {
    double left = 0;
    std::uint32_t flows = 0;
    double weight = 0;  // of all these flows
  };
  std::vector<Share> shares_;  // by link
  std::vector<double> new_rates_;
};

}  // namespace hoplite::sim
