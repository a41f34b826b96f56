// ObjectRecord: what a shard knows of one object, beside the copies themselves. A plain value,
// small while nothing happens to the object: there may be millions.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include <hoplite/object_id.h>

#include "base/boxed.h"
#include "base/ids.h"
#include "base/small_set.h"
#include "base/time.h"
#include "planner/books/reduction_record.h"
#include "planner/copies/copy_table.h"
#include "planner/copies/flow_samples.h"
#include "planner/serving/slow_relays.h"
#include "planner/words/words.h"

namespace hoplite::planner {

struct PendingCreate {
  NodeId node;
  Create request;
};

// Whose Create the current version is. Nobody's: it was learned from an inventory.
struct Putter {
  NodeId node = kNoNode;
  std::uint64_t attempt = 0;
  friend bool operator==(const Putter&, const Putter&) = default;
};

// A Locate that is not answered, and the room that its node holds meanwhile (R63). One of a node.
struct Asking {
  NodeId node = kNoNode;
  std::uint64_t room = 0;
  std::uint64_t number = 0;  // of the Locate
  bool joint = false;        // as in Want
  bool given = false;        // until then a Give is on its way to it, of that version (R83)
  Version version;           // it gathers with others who want this one, until then
  Time until{};
  friend bool operator==(const Asking& a, const Asking& b) { return a.node == b.node; }
  friend auto operator<=>(const Asking& a, const Asking& b) { return a.node <=> b.node; }
};

// Those who wait at the node rely on an owner of the id, up to its request of this number (R59).
struct Expectation {
  NodeId node = kNoNode;
  std::uint64_t number = 0;
};

// What nodes wait for, and what they are told meanwhile.
struct Waiting {
  std::vector<PendingCreate> creates;  // in order of arrival; the first that may, wins (R3)
  std::vector<PendingOpen> opens;      // reductions that want to make it
  SmallSet<Asking> locates;
  SmallSet<NodeId> evictions;
  SmallSet<NodeId> subscribers;
  std::vector<Expectation> expectations;  // of nodes that locate or subscribe; one of each
  Loss loss;                              // the last one, after which it did not exist

  bool empty() const {
    return creates.empty() && opens.empty() && locates.empty() && evictions.empty() &&
           subscribers.empty() && expectations.empty() && loss.empty();
  }
  void Expect(NodeId node, std::uint64_t number) {
    DropExpectation(node);
    expectations.push_back({node, number});
  }
  // The node asks where the object is no more.
  void ForgetQuestion(NodeId node) {
    locates.erase({node});
    if (!subscribers.contains(node)) DropExpectation(node);
  }
  void DropExpectation(NodeId node) {
    std::erase_if(expectations, [&](const Expectation& one) { return one.node == node; });
  }
};

struct ObjectRecord {
  Version version;  // none: not created yet, or forgotten
  Putter putter;
  Boxed<std::string> metadata;
  InlineBytes inline_bytes;  // null: not in the directory
  CopyTable table;
  Time gathers_until = kNever;  // before the first pass over the version; never: not begun
  bool joint = false;           // somebody who wants this version fetches other objects, too
  bool by_arrival = false;      // some were placed before it was joint
  bool inline_read = false;     // the inline bytes have left with an answer
  Boxed<FlowSamples> samples;
  Boxed<SlowRelays> slow_relays;
  Boxed<ReductionRecord> reduction;
  Boxed<Waiting> waits;      // see waiting; made for who comes
  SmallSet<NodeId> touched;  // every node that spoke of it: whom to look at when one leaves

  const Waiting& waiting() const { return waits.OrEmpty(); }
  void Join() {
    by_arrival |= !joint && !table.grants().empty();
    joint = true;
  }
  bool exists() const { return inline_bytes != nullptr || table.whole(); }
  // It is committed, and its coordinator is to know before anybody else gets it (R82).
  bool withheld() const {
    return reduction && reduction->withheld && reduction->committed == version;
  }
  bool open_reduction() const { return reduction && !reduction->committed; }
  // It is there, or may come to be by what is under way.
  bool coming() const {
    return inline_bytes != nullptr || !table.copies().empty() || !waiting().creates.empty() ||
           !waiting().opens.empty() || open_reduction();
  }
  bool idle() const {
    return !coming() && waiting().locates.empty() && waiting().subscribers.empty();
  }
  // Nothing changes for now: gives back what only changes need.
  void Rest() {
    table.Rest();
    waits.DropIfEmpty();
    if (!table.grants().empty()) return;
    samples.reset();
    slow_relays.reset();
  }
};

}  // namespace hoplite::planner
