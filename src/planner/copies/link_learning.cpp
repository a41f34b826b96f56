#include "planner/copies/link_learning.h"

#include <algorithm>
#include <string>

namespace hoplite::planner {

LinkLearning::Streams LinkLearning::StreamsBeside(NodeId receiver, NodeId source,
                                                  const NodeTable& nodes) const {
  Streams streams;
  const FlowSamples::Rate own = samples_.RateOf(receiver, table_);
  const Copy* copy = table_.Find(source);
  if (copy == nullptr) return {.known = false};
  const auto beside = StreamsOf(source, table_);
  for (const GrantId grant : copy->flow().serving) {
    const NodeId served = table_.grants().at(grant).receiver;
    const FlowSamples::Rate rate = samples_.RateOf(served, table_);
    ++streams.count;
    // Who stands still may have left its part to the others since.
    const bool of_now = rate.ended > own.middle && table_.Find(served)->live;
    streams.known = streams.known && rate.most > 0 && rate.beside == beside && of_now;
    streams.least += rate.least;
    if (served != receiver) streams.others += rate.most;
    const double shown = nodes.ProvenOf(served);
    streams.all_could_more = streams.all_could_more && rate.held && kAlike * rate.most <= shown;
  }
  return streams;
}

double LinkLearning::Learn(NodeId receiver, double in_all, Time now, NodeTable& nodes) const {
  const FlowSamples::Rate own = samples_.RateOf(receiver, table_);
  const NodeId source = FeedOf(table_.Find(receiver), table_)->source;
  nodes.NoteShown(receiver, own.least);
  if (!table_.forest()) nodes.NoteShown(source, own.least);
  if (!own.held) return 0;
  const std::string& from = nodes.SiteOf(source);
  const std::string& to = nodes.SiteOf(receiver);
  if (from != to) {
    nodes.NoteWay(from, to, own.most);
    return 0;
  }
  // Of several objects, or stripes, nobody sees all that the source's link carries.
  if (joint_ || table_.group_count() > 1) return std::max(own.most, in_all);
  const double carries = Limit(receiver, source, now, nodes);
  return carries > 0 ? std::max(carries, in_all) : 0;
}

double LinkLearning::Limit(NodeId receiver, NodeId source, Time now, NodeTable& nodes) const {
  const FlowSamples::Rate own = samples_.RateOf(receiver, table_);
  const Streams streams = StreamsBeside(receiver, source, nodes);
  if (!streams.known) return 0;
  nodes.NoteShown(source, streams.least);
  if (streams.count > 1 && streams.all_could_more) {
    nodes.NoteFull(source, streams.others + own.most, now);
    return 0;
  }
  const double spare = nodes.SendsOf(source, now) - kTakesMore * streams.others;
  if (spare < kAlike * own.most) return streams.count == 1 ? own.most : 0;
  nodes.NoteSlow(receiver, own.most, now);
  return own.most;
}

}  // namespace hoplite::planner
