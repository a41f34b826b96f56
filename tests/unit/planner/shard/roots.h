// Roots: the shard of one object that several members make together, each its own stripes, and that
// all of them read: what the parts that plan it decide. Node n has the id 10 n; a member that
// produces a group is that group's origin.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/books/books.h"
#include "planner/shard/ownership.h"
#include "planner/shard/passes.h"
#include "planner/shard/post.h"
#include "planner/shard/transfers.h"
#include "planner/shard/versions.h"

namespace hoplite::planner {

class Roots : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kStripes = 16;

  Roots() : books_(NewCluster(), Time{std::chrono::seconds(1)}) {}
  ~Roots() override { EXPECT_EQ(BrokenInvariant(books_), ""); }

  static NodeId Node(std::uint64_t number) { return NodeId{10 * number}; }
  void Join(NodeId node) { books_.nodes.Join({node, ToString(node), "x:1"}, books_.clock.now()); }
  // Members 1 to `members` make equal shares of the stripes.
  void Make(std::uint32_t members) {
    members_ = members;
    std::vector<StripeGroup> cut;
    for (std::uint32_t each = 0; each < members; ++each) {
      Join(Node(each + 1));
      cut.push_back({Made(each + 1), Node(each + 1)});
    }
    ObjectRecord& record = books_.objects.Touch(id_, Node(1));
    books_.nodes.EndInventory(Node(1));
    versions_.Start(id_, record, books_.stamps.NextVersion(), layout_, "",
                    StripeGroups::MadeBy(std::move(cut), layout_));
    for (std::uint32_t each = 1; each <= members; ++each) List(each);
  }
  // The stripes that the member makes.
  StripeMask Made(std::uint32_t member) const {
    const std::uint32_t share = kStripes / members_;
    return ((StripeMask{1} << share) - 1) << (share * (member - 1));
  }
  StripeMask AllBut(StripeMask stripes) const { return layout_.all_stripes() & ~stripes; }
  std::uint32_t Before(std::uint32_t member) const { return member == 1 ? members_ : member - 1; }
  std::uint32_t After(std::uint32_t member) const { return member % members_ + 1; }

  ObjectRecord& record() { return *books_.objects.Find(id_); }
  CopyTable& table() { return record().table; }
  const Copy& At(NodeId node) { return *table().Find(node); }

  // It wants what it does not make, or have.
  void Want(NodeId node, bool leaf = false) { Want(node, leaf, layout_.empty_marks()); }
  void Want(NodeId node, bool leaf, const StripeMarks& marks) {
    if (books_.nodes.Find(node) == nullptr) Join(node);
    books_.nodes.EndInventory(node);
    books_.objects.Touch(id_, node);
    transfers_.On(node, protocol::Want{id_, record().version, marks, leaf, false});
  }
  void WantAll() {
    for (std::uint32_t each = 1; each <= members_; ++each) Want(Node(each));
  }
  void Has(NodeId node, const StripeMarks& marks, Duration starved = Duration{0}) {
    transfers_.On(node, protocol::Progress{.object = id_,
                                           .version = record().version,
                                           .marks = marks,
                                           .starved_for = starved,
                                           .at = books_.clock.now()});
  }
  void Close(NodeId node, GrantId grant, Outcome outcome, Failure failure = Failure::kNone) {
    const StripeMarks marks = At(node).marks;
    transfers_.On(node, GrantClosed{id_, record().version, grant, outcome, failure, marks});
  }
  void Complete(NodeId node) {
    for (const GrantId grant : GrantsOf(node)) Close(node, grant, Outcome::kDone);
    transfers_.On(node, CopyComplete{id_, record().version});
  }
  void Lose(NodeId node) {
    versions_.DropCopy(id_, record(), node);
    books_.nodes.Erase(node);
  }

  using Told = std::vector<std::pair<NodeId, Grant>>;
  // One pass: what it grants, in order.
  Told Plan(Duration passed = std::chrono::milliseconds(1)) {
    books_.clock.Advance(books_.clock.now() + passed);
    passes_.Run(id_, record());
    EXPECT_EQ(BrokenInvariant(books_), "");
    Told told;
    for (const Action& action : books_.outbox.Take()) {
      if (const auto* grant = std::get_if<Grant>(&action.body)) {
        told.emplace_back(action.to, *grant);
      }
    }
    return told;
  }
  std::vector<GrantId> GrantsOf(NodeId receiver) {
    std::vector<GrantId> open;
    for (const auto& [grant, what] : table().grants()) {
      if (what.receiver == receiver) open.push_back(grant);
    }
    return open;
  }
  // What the receiver gets now, from whom: an entry per stream.
  std::multiset<std::pair<NodeId, StripeMask>> FeedsOf(NodeId receiver) {
    std::multiset<std::pair<NodeId, StripeMask>> feeds;
    for (const GrantId grant : GrantsOf(receiver)) {
      const OpenGrant& open = table().grants().at(grant);
      feeds.emplace(open.source, open.stripes);
    }
    return feeds;
  }
  using Feeds = std::multiset<std::pair<NodeId, StripeMask>>;

  const ObjectId id_ = ObjectId::FromName("target");
  const Layout layout_ = Layout::For(64 << 20, kStripes);
  Books books_;
  Post post_{books_.outbox, books_.nodes, books_.tombstones, books_.ended, books_.clock};
  Versions versions_{books_.agenda, books_.inlined, books_.ended, books_.nodes, post_};
  Ownership ownership_{books_.options, books_.clock,   books_.window, books_.nodes,
                       books_.stamps,  books_.objects, books_.owners, books_.owner_clock,
                       books_.agenda,  post_};
  Transfers transfers_{books_.options, books_.clock,   books_.window,      books_.stamps,
                       books_.nodes,   books_.objects, books_.inline_pace, books_.apart,
                       books_.pairs,   post_,          versions_,          ownership_};
  Passes passes_{books_.options, books_.clock,  books_.window,    books_.nodes, books_.apart,
                 books_.stamps,  books_.agenda, books_.gathering, post_};
  std::uint32_t members_ = 0;

 private:
  static DirectoryOptions NewCluster() {
    DirectoryOptions options;
    options.recovery_window = Duration{0};
    return options;
  }
  void List(std::uint32_t member) {
    books_.nodes.EndInventory(Node(member));
    books_.objects.Touch(id_, Node(member));
    table().Add(Node(member));
    table().Edit(Node(member), [&](Copy& copy) {
      copy.listed = copy.primary = true;
      copy.produces = Made(member);
      copy.slot = 1;
      copy.order = books_.stamps.NextRequest();
    });
  }
};

}  // namespace hoplite::planner
