#include "planner/link_learning.h"

#include <algorithm>
#include <string>

namespace hoplite::planner {
namespace {

// Streams of a source whose rates are above this part of the fastest one share the source's link.
constexpr double kAsFast = 0.75;
// Whose link is used up to this part has nothing to gain elsewhere; nor has a source's.
constexpr double kUsedUp = 0.75;

// 0: it isn't known what the link carries.
bool IsUsedUp(double rate, double carries) { return carries > 0 && rate > kUsedUp * carries; }

double CarriedBy(NodeId node, const NodeTable& nodes) {
  const NodeRecord* record = nodes.Find(node);
  return record != nullptr ? record->carries : 0;
}

}  // namespace

LinkLearning::Stream LinkLearning::StreamTo(NodeId receiver, const NodeTable& nodes) const {
  const FlowSamples::Rate seen = samples_.RateOf(receiver, table_);
  const double rate = table_.Find(receiver)->live ? seen.last : 0;
  return {rate, seen.steady, IsUsedUp(rate, CarriedBy(receiver, nodes))};
}

std::vector<LinkLearning::Stream> LinkLearning::StreamsOf(NodeId source,
                                                          const NodeTable& nodes) const {
  std::vector<Stream> streams;
  const Copy* copy = table_.Find(source);
  if (copy == nullptr) return streams;
  for (const GrantId grant : copy->flow().serving) {
    streams.push_back(StreamTo(table_.grants().at(grant).receiver, nodes));
  }
  return streams;
}

double LinkLearning::Learn(NodeId receiver, double in_all, Time now, NodeTable& nodes) const {
  const FlowSamples::Rate own = samples_.RateOf(receiver, table_);
  const NodeId source = FeedOf(table_.Find(receiver), table_)->source;
  const std::vector<Stream> streams = StreamsOf(source, nodes);
  double sent = 0;
  double most = 0;
  bool known = true;
  for (const Stream& stream : streams) {
    sent += stream.rate;
    known = known && stream.rate > 0;
    most = std::max(most, stream.rate);
  }
  nodes.NoteProven(receiver, own.bytes_per_second);
  nodes.NoteSent(source, sent, now, false);
  if (!own.ready) return 0;
  const std::string& from = nodes.SiteOf(source);
  const std::string& to = nodes.SiteOf(receiver);
  if (from != to) {
    nodes.NoteWay(from, to, own.bytes_per_second);
    return 0;
  }
  // Where the source's link is the limit, its streams say nothing of their receivers' links.
  if (!joint_ && table_.group_count() == 1) {
    const auto shares = [&](const Stream& stream) {
      return stream.rate > kAsFast * most && stream.steady && !stream.explained;
    };
    const bool limited = known && shares(StreamTo(receiver, nodes));
    if (limited && std::ranges::count_if(streams, shares) >= 2) {
      nodes.NoteSent(source, sent, now, true);
    }
    const double sends = nodes.SendsOf(source, now);
    if (!known || (sends == 0 ? streams.size() > 1 : IsUsedUp(sent, sends))) return 0;
  }
  const double carries = std::max(own.bytes_per_second, in_all);
  if (carries == 0 || (!own.steady && CarriedBy(receiver, nodes) > 0)) return 0;
  nodes.NoteCarried(receiver, carries, now);
  return carries;
}

}  // namespace hoplite::planner
