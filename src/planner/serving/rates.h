// Rates: how many bytes per second each holder of one object would give each receiver, where links
// or sites differ.
//
// Decides: how good an offer of a holder is, and whether another one is worth a move. Is told:
// the table, what links were told and shown to carry (NodeTable), and how fast bytes come lately
// (FlowSamples). Must never: count on more of a holder than it was shown to have to spare when a
// receiver has a source already: that takes it from another; say who may be sent where (R7), as
// SourceSelector does. It lives for one pass, over one group.
//
//   source 200 ──▶ 200 ──▶ 100 ──▶ 50      a holder's link goes first to the receivers that told faster
//              └─▶ …                       ones, so the slow ones find nothing left, and stand behind
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/one_or_set.h"
#include "base/time.h"
#include "planner/copies/copy_table.h"
#include "planner/copies/flow_samples.h"
#include "planner/copies/node_table.h"

namespace hoplite::planner {

class Rates {
 public:
  // So many receivers a holder serves at most.
  static constexpr std::uint32_t kMostReceivers = 16;
  // Told rates that differ by this factor are not alike.
  static constexpr double kSlower = 1.2;

  // A holder's offer to a receiver: the least one is the best. Holders that offer at least 2/3 of
  // what the receiver wants count as equal; below that, rates within a factor of 1.5 do.
  struct Offer {
    int shortfall = 0;
    bool away = false;        // in another site
    std::uint32_t crowd = 0;  // receivers, where next to nothing is left
    bool partial = false;
    int load = 0;  // eighths of its link that are given away
    bool on_disk = false;
    std::uint32_t hops = 0;      // from a holder that needs no source
    std::uint64_t distance = 0;  // in ring order
    friend auto operator<=>(const Offer&, const Offer&) = default;
  };

  // The sites of those who have or want the object differ; or, if nothing else goes over their links
  // (`alone`), one was shown to carry much more than another is limited to. And it takes the slowest
  // link, or way between sites, so long that a better source pays.
  static bool Count(const CopyTable& table, const NodeTable& nodes, bool alone, Time now);

  Rates(const CopyTable& table, const NodeTable& nodes, const FlowSamples& samples, Time now);
  Rates(const Rates&) = delete;
  Rates& operator=(const Rates&) = delete;

  // The faster ones come first, by what they told; before them those that told nothing.
  double Turn(NodeId node) const { return of(node).turn(); }
  std::uint32_t HopsOf(NodeId node) const { return of(node).hops; }
  // Of those sources, perhaps of its own site only.
  std::vector<std::pair<Offer, NodeId>> OffersTo(NodeId receiver,
                                                 const OneOrSet<SourceKey>& sources,
                                                 bool within_site) const;
  // The receiver, which is fed, gets so much faster from that holder that it is worth a move.
  bool IsWorthAMove(NodeId receiver, NodeId holder) const;
  // It was shown to send something, and is not slow.
  bool HasShown(NodeId holder) const { return of(holder).shown > 0 && !of(holder).slow; }
  // Bytes per second that come to it, as measured; 0: not yet.
  double SeenAt(NodeId receiver) const { return of(receiver).seen; }
  // False: from nobody does it.
  bool MayBeWorthAMove(NodeId receiver) const;
  // The receiver was seen to be slow, or is of another site than its source, and for that another one
  // there gets less than it could take: those behind which the receiver takes nothing of that source's
  // link, the best one first. Else nobody.
  std::vector<NodeId> GivesWayTo(NodeId receiver) const;
  // A holder that gets bytes catches up with this lead of a receiver within the time for which it
  // may hold a FETCH.
  bool CatchesUp(NodeId holder, std::uint64_t bytes, NodeId receiver) const;
  // Of those that the receiver can reach, another one of its site has the object; or crosses into the
  // site, gets nothing from it, is no slower and has as much: nobody else crosses.
  bool IsFedWithin(NodeId receiver, const std::function<bool(NodeId)>& reaches) const;
  // Somebody of its site needs no source.
  bool IsAtHome(NodeId receiver) const { return at_home_[of(receiver).site]; }
  std::uint32_t SiteOf(NodeId node) const { return of(node).site; }
  // The holder serves the receiver from now on.
  void Serve(NodeId holder, NodeId receiver);

 private:
  struct Node {
    NodeId id = kNoNode;
    std::uint64_t distance = 0;  // in ring order
    std::uint32_t site = 0;
    double told = 0;    // that its link carries; 0: nothing
    double shown = 0;   // that it sends, 0: nothing was
    double sends = 0;   // what its link may take: as guessed, if nobody said or saw what limits it
    double wants = 0;   // what its link may bring
    bool slow = false;  // as measured
    bool needs_source = true;
    Node* source = nullptr;  // whose bytes it gets
    double comes = 0;        // what it gets from there, as planned or seen
    double takes = 0;        // what that may take of its source's link
    double seen = 0;         // what comes to it; 0: not measured yet
    std::uint32_t hops = 0;
    std::vector<Node*> serves;

    double passes() const;  // what others can get of it at most
    // To those who have no source yet it gives what it was shown to, or what is guessed.
    double gives() const { return shown > 0 ? shown : wants; }
    double turn() const { return told > 0 ? -told : -std::numeric_limits<double>::infinity(); }
  };

  std::size_t IndexOf(NodeId node) const;
  const Node& of(NodeId node) const { return nodes_[IndexOf(node)]; }
  Node& of(NodeId node) { return nodes_[IndexOf(node)]; }
  void Note(NodeId id, const Copy& copy, const NodeTable& nodes, double fastest, Time now);
  // What crosses from the source to it.
  bool TakesMuch(const Node& receiver, const Node& source) const;
  // What it misses takes longer, at that rate.
  bool OutlastsAMove(const Node& receiver, double bytes_per_second) const;
  // It crosses, and leaves its source's link to the receiver at home, which is to catch up with it.
  bool GivesWay(const Node& served, const Node& receiver) const;
  bool HoldsUp(const Node& receiver, const Node& other) const;
  // It gets what the receiver gets, perhaps through others.
  bool IsBehind(const Node& node, const Node& receiver) const;
  void Share(Node& holder, const FlowSamples& samples);
  // What a link that carries so much has left for this receiver: those that are slower by what both
  // told are left out, unless the link itself is the slowest; those that cross, at home.
  double Spare(const Node& holder, double carries, const Node& receiver) const;
  static double Given(const Node& holder);
  static bool IsSlower(const Node& one, double than) {
    return one.told > 0 && kSlower * one.told <= than;
  }
  Offer OfferOf(const Node& holder, const Node& receiver) const;
  // Bytes per second that the receiver may expect of the holder, if its link carries that.
  double Expected(const Node& holder, double carries, const Node& receiver) const;
  std::uint64_t Missing(NodeId receiver) const;
  bool Pays(const Node& receiver, double then) const;
  void NoteReach(const Node& holder);

  const CopyTable& table_;
  Duration move_;                          // that a move takes
  std::vector<Node> nodes_;                // in the order of their ids; they point at each other
  std::vector<std::vector<double>> ways_;  // from site to site
  std::vector<bool> at_home_;              // by site
  std::vector<double> most_;               // that anybody could give, by the receiver's site
};

}  // namespace hoplite::planner
