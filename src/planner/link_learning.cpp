#include "planner/link_learning.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace hoplite::planner {
namespace {

// Streams of a source whose rates are above this part of the fastest one share the source's link.
constexpr double kAsFast = 0.75;

}  // namespace

std::vector<double> LinkLearning::RatesFrom(NodeId source) const {
  std::vector<double> rates;
  const Copy* copy = table_.Find(source);
  if (copy == nullptr) return rates;
  for (const GrantId grant : copy->flow().serving) {
    const NodeId receiver = table_.grants().at(grant).receiver;
    rates.push_back(samples_.RateOf(receiver, table_).bytes_per_second);
  }
  return rates;
}

double LinkLearning::Learn(NodeId receiver, double in_all, NodeTable& nodes) const {
  const FlowSamples::Rate own = samples_.RateOf(receiver, table_);
  const NodeId source = FeedOf(table_.Find(receiver), table_)->source;
  const std::vector<double> rates = RatesFrom(source);
  const double sent = std::accumulate(rates.begin(), rates.end(), 0.0);
  nodes.NoteProven(receiver, own.bytes_per_second);
  nodes.NoteSent(source, sent, false);
  if (!own.ready) return 0;
  const std::string& from = nodes.SiteOf(source);
  const std::string& to = nodes.SiteOf(receiver);
  if (from != to) {
    nodes.NoteWay(from, to, own.bytes_per_second);
    return 0;
  }
  const auto as_fast = [most = rates.empty() ? 0.0 : std::ranges::max(rates)](double rate) {
    return rate > kAsFast * most;
  };
  if (!joint_ && as_fast(own.bytes_per_second) && std::ranges::count_if(rates, as_fast) >= 2) {
    nodes.NoteSent(source, sent, true);
    return 0;
  }
  const double carries = std::max(own.bytes_per_second, in_all);
  nodes.NoteCarried(receiver, carries);
  return carries;
}

}  // namespace hoplite::planner
