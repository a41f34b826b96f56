// Rates: how many bytes per second each holder of one object would give each receiver, where links
// or sites differ (R100, R101, R105).
//
// Decides: how good an offer of a holder is, and whether another one is worth a move (R102). Is told:
// the table, what links carry (NodeTable), and how fast bytes come lately (FlowSamples). Must never:
// say who may be sent where (R7): SourceSelector does. It lives for one pass, over one group.
//
//   source 200 ──▶ 200 ──▶ 100 ──▶ 50      each holder's link goes first to its faster receivers, so
//              └─▶ …                       the slow ones find nothing left there, and stand behind
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/one_or_set.h"
#include "base/time.h"
#include "planner/copy_table.h"
#include "planner/flow_samples.h"
#include "planner/node_table.h"

namespace hoplite::planner {

class Rates {
 public:
  // So many receivers a holder serves at most.
  static constexpr std::uint32_t kMostReceivers = 16;

  // What a holder offers a receiver: the least one is the best. From 2/3 of what the receiver wants
  // all are as good; below, those within a factor of 1.5.
  struct Offer {
    int shortfall = 0;
    bool away = false;        // in another site
    std::uint32_t crowd = 0;  // receivers, where next to nothing is left
    bool partial = false;
    int load = 0;                // eighths of its link that are given away
    std::uint32_t hops = 0;      // from a holder that needs no source
    std::uint64_t distance = 0;  // in ring order
    friend auto operator<=>(const Offer&, const Offer&) = default;
  };

  // The sites of those who have or want the object differ; or, if nothing else goes over their links
  // (`alone`), all told their links, and these differ. And it takes the slowest link, or way between
  // sites, so long that a better source pays.
  static bool Count(const CopyTable& table, const NodeTable& nodes, bool alone);

  Rates(const CopyTable& table, const NodeTable& nodes, const FlowSamples& samples, Time now);
  Rates(const Rates&) = delete;
  Rates& operator=(const Rates&) = delete;

  // 0: among the fastest; one more for each factor of 1.5 below them.
  int ClassOf(NodeId node) const { return of(node).rate_class; }
  std::uint32_t HopsOf(NodeId node) const { return of(node).hops; }
  // Of those sources, perhaps of its own site only.
  std::vector<std::pair<Offer, NodeId>> OffersTo(NodeId receiver,
                                                 const OneOrSet<SourceKey>& sources,
                                                 bool within_site) const;
  // The receiver, which is fed, gets so much faster from that holder that it is worth a move.
  bool IsWorthAMove(NodeId receiver, NodeId holder) const;
  // False: from nobody does it.
  bool MayBeWorthAMove(NodeId receiver) const;
  // A holder that gets bytes catches up with this lead of a receiver within the time for which it
  // may hold a FETCH.
  bool CatchesUp(NodeId holder, std::uint64_t bytes) const;
  // Of those that the receiver can reach, another one of its site has the object; or crosses into the
  // site, gets nothing from it, is no slower and has as much: nobody else crosses (R105).
  bool IsFedWithin(NodeId receiver, const std::function<bool(NodeId)>& reaches) const;
  bool SameSite(NodeId one, NodeId other) const { return of(one).site == of(other).site; }
  // The holder serves the receiver from now on.
  void Serve(NodeId holder, NodeId receiver);

 private:
  struct Node {
    NodeId id = kNoNode;
    std::uint64_t distance = 0;  // in ring order
    std::uint32_t site = 0;
    double wants = 0;  // what its link may bring
    double sends = 0;  // what its link takes
    int rate_class = 0;
    bool needs_source = true;
    Node* source = nullptr;  // whose bytes it gets
    double comes = 0;        // what it gets from there, as planned or seen
    std::uint32_t hops = 0;
    std::vector<Node*> serves;

    double passes() const;  // what others can get of it at most
  };

  std::size_t IndexOf(NodeId node) const;
  const Node& of(NodeId node) const { return nodes_[IndexOf(node)]; }
  Node& of(NodeId node) { return nodes_[IndexOf(node)]; }
  void Note(NodeId id, const Copy& copy, double may_carry, double sends, double fastest);
  // It gets what the receiver gets, perhaps through others.
  bool IsBehind(const Node& node, const Node& receiver) const;
  void Share(Node& holder, const FlowSamples& samples);
  // What a holder's link has left for this receiver: those that are as fast or faster come first.
  static double Spare(const Node& holder, const Node& receiver);
  static double Given(const Node& holder);
  Offer OfferOf(const Node& holder, const Node& receiver) const;
  // Bytes per second that the receiver may expect of the holder.
  double Expected(const Node& holder, const Node& receiver) const;
  std::uint64_t Missing(NodeId receiver) const;
  bool Pays(const Node& receiver, double then) const;
  void NoteReach(const Node& holder);

  const CopyTable& table_;
  Duration move_;                          // that a move takes
  std::vector<Node> nodes_;                // in the order of their ids; they point at each other
  std::vector<std::vector<double>> ways_;  // from site to site
  std::vector<double> most_;               // that anybody could give, by the receiver's site
};

}  // namespace hoplite::planner
