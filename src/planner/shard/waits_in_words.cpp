#include "planner/shard/waits_in_words.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "base/text.h"
#include "protocol/failure.h"

namespace hoplite::planner {
namespace {

constexpr std::size_t kMostWords = 4;
// Holders of one object: a picture of many waiters is drawn in one step of the shard.
constexpr std::size_t kMostLookedAt = 50;

using Reasons = std::vector<std::string>;

std::string Silent(const Reasons& away) {
  return NameSome(away, kMostWords) +
         (away.size() == 1 ? ", which has it, does not answer" : ", which have it, do not answer");
}

// What keeps the holders from one node.
class Holders {
 public:
  Holders(const Books& books, const ObjectRecord& record, NodeId node)
      : books_(books), record_(record), node_(node), own_(record.table.Find(node)) {
    std::size_t looked_at = 0;
    for (const auto& [holder, copy] : record.table.copies()) {
      const bool serves = holder != node && copy.listed && copy.parked() == 0;
      if (serves && ++looked_at <= kMostLookedAt) AddReason(holder, copy);
    }
    if (looked_at > kMostLookedAt) more_ = looked_at - kMostLookedAt;
  }

  std::string InWords() const {
    Reasons words;
    if (!busy_.empty()) {
      words.push_back(fmt::format("{} another node, and the first to end that is its source: {}",
                                  next_.empty() ? "every holder serves" : "some holders serve",
                                  NameSome(busy_, kMostWords)));
    }
    if (!next_.empty()) words.push_back("its next source: " + NameSome(next_, kMostWords));
    if (!out_of_reach_.empty()) words.push_back(NameSome(out_of_reach_, kMostWords, "; "));
    if (!away_.empty()) words.push_back(Silent(away_));
    // Said only where nothing else keeps the node waiting.
    if (words.empty() && !behind_.empty()) {
      words.push_back(NameSome(behind_, kMostWords) + ": no more of it there than it has itself");
    }
    if (more_ > 0) words.push_back(fmt::format("{} more holders", more_));
    if (words.empty()) return "whoever has a part of it waits for the rest, too";
    return NameSome(words, words.size(), "; ");
  }

 private:
  void AddReason(NodeId holder, const Copy& copy) {
    const std::string name = books_.nodes.NameOf(holder);
    if (books_.pairs.Blocks(node_, holder, books_.clock.now())) {
      out_of_reach_.push_back(OutOfReach(holder));
    } else if (!books_.nodes.alive(holder)) {
      away_.push_back(name);
    } else if (!copy.flow().serving.empty()) {
      busy_.push_back(name + " serves " + ServedBy(copy));
    } else if (!copy.final() && own_ != nullptr && copy.progress() <= own_->progress()) {
      behind_.push_back(name);
    } else {
      next_.push_back(name);
    }
  }
  std::string ServedBy(const Copy& copy) const {
    Reasons served;
    for (const GrantId& grant : copy.flow().serving) {
      served.push_back(books_.nodes.NameOf(record_.table.grants().at(grant).receiver));
      if (served.size() == kMostWords) break;
    }
    const std::size_t more = copy.flow().serving.size() - served.size();
    return NameSome(served, kMostWords) + (more == 0 ? "" : fmt::format(" and {} more", more));
  }
  std::string OutOfReach(NodeId holder) const {
    const std::string why = books_.pairs.Why(node_, holder);
    return fmt::format("it can't connect from {} to {}{}{}", AtAddress(node_), AtAddress(holder),
                       why.empty() ? "" : ": ", why);
  }
  std::string AtAddress(NodeId node) const {
    const NodeRecord* known = books_.nodes.Find(node);
    return books_.nodes.NameOf(node) + (known == nullptr ? "" : " at " + known->info.address);
  }

  const Books& books_;
  const ObjectRecord& record_;
  const NodeId node_;
  const Copy* own_;  // null: it has none
  Reasons busy_;
  Reasons behind_;
  Reasons next_;
  Reasons out_of_reach_;
  Reasons away_;
  std::size_t more_ = 0;  // that were not looked at
};

}  // namespace

std::string WhyAbsent(const NodeTable& nodes, const ObjectRecord& record,
                      const std::vector<WaiterView>& told) {
  if (record.open_reduction()) {
    const NodeId coordinator = record.reduction->coordinator;
    const auto waits = std::ranges::find(told, coordinator, &WaiterView::node);
    return fmt::format("a reduction makes it that {} asked for{}", nodes.NameOf(coordinator),
                       waits == told.end() ? "" : ": " + waits->why);
  }
  const Waiting& waiting = record.waiting();
  return waiting.loss.empty() ? protocol::kDoesNotExist : InWords(waiting.loss);
}

std::string WhyUnserved(const Books& books, const ObjectRecord& record, NodeId node) {
  return Holders(books, record, node).InWords();
}

std::string WhyPutWaits(const NodeTable& nodes, const ObjectRecord& record) {
  Reasons away;
  for (const auto& [node, copy] : record.table.copies()) {
    const bool may_come_back = copy.final() && !nodes.alive(node);
    if (may_come_back) away.push_back(nodes.NameOf(node));
  }
  if (away.empty()) return "a put of it is about to be answered";
  return fmt::format(
      "a put of it waits, since {}: until that node is back, or the directory gives it up",
      Silent(away));
}

}  // namespace hoplite::planner
