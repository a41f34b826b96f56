#include "wire/directory_messages.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_checks.h"

namespace hoplite::wire {
namespace {

using namespace protocol;  // NOLINT(google-build-using-namespace): the events and actions converted
using std::chrono::microseconds;

const ObjectId kObject = ObjectId::FromName("an object");
const Version kVersion{{.incarnation = 7, .sequence = 9}};
const GrantId kGrant{{.incarnation = 7, .sequence = 10}};
const Layout kLayout = Layout::For(40 * 1024 * 1024, 2);
const Version kChild{{.incarnation = 7, .sequence = 11}};
const Fold kFold{Op::kXor, DType::kUint16, 3, 20};
const SlotOrder kOrder{2, {1, 7}, 0b11, 3, NodeId{11}, {{kObject, kVersion}, {kObject, kChild}}};

InlineBytes Bytes(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

TEST(DirectoryMessages, EveryEventComesBackAsItWas) {
  const std::vector<NodeEvent> events = {
      Create{.object = kObject, .layout = kLayout, .metadata = "f4"},
      Create{.object = kObject, .layout = Layout::For(3), .inline_bytes = Bytes("abc")},
      Create{.object = kObject, .layout = Layout::For(0), .inline_bytes = Bytes("")},
      Create{.object = kObject, .layout = kLayout, .attempt = 7},
      Create{.object = kObject, .layout = kLayout, .owned = true, .number = 8},
      Create{.object = kObject, .layout = kLayout, .only_if_owned = true},
      Withdraw{kObject, 7},
      CopyComplete{kObject, kVersion},
      CopyGone{kObject, kVersion, GoneReason::kRecalled},
      CopyMoved{kObject, kVersion, true},
      Locate{kObject},
      Locate{kObject, 12},
      Locate{kObject, 12, 1 << 20, 7},
      Locate{kObject, 0, 1 << 20, 8, true},
      CancelLocate{kObject},
      Want{kObject, kVersion, {1, 2}},
      Want{kObject, kVersion, {1, 2}, true},
      Want{kObject, kVersion, {1, 2}, false, true},
      CancelWant{kObject, kVersion},
      GrantClosed{kObject, kVersion, kGrant, Outcome::kFailed, Failure::kUnknown, {3, 4}},
      Progress{kObject, kVersion, {5, 6}, 1'000'000, microseconds(250), microseconds(300)},
      Delete{kObject},
      EvictAsk{kObject, kVersion, NodeId{7}},
      Subscribe{kObject},
      Subscribe{kObject, 12},
      Unsubscribe{kObject},
      Held{.object = kObject,
           .version = kVersion,
           .layout = kLayout,
           .metadata = "f4",
           .marks = kLayout.full_marks(),
           .complete = true,
           .produces = 1,
           .primary = true,
           .upstreams = {{NodeId{3}, kGrant, 1}, {NodeId{4}, kGrant, 2}},
           .ever_owned = true},
      HeldBytes{kObject, kVersion, Bytes("x")},
      Tombstone{kObject, std::chrono::seconds(30), kVersion},
      Owner{kObject, 9, true},
      Owner{kObject, 10, false},
      Owner{kObject, 11, true, microseconds(0)},
      Owned{kObject, 9, true},
      Owned{kObject, 10, false},
      Owned{kObject, 11, true, std::chrono::seconds(40)},
      RegisterUse{kObject, 9},
      RegisterUse{kObject, 9, true, kVersion,
                  RegisterContents{kVersion, kVersion, "v", {NodeId{3}, 7}},
                  RegisterCall{4, CompareAndSet{kVersion, "w", true}}},
      RegisterUse{kObject, 9, true, {}, RegisterContents{}, RegisterCall{4}},
      InventoryEnd{},
      StoreUsage{1 << 30, 1 << 20, 7, 8, 9, 10},
      ToldWaits{{{kObject, "no memory is free"}, {kObject, ""}}},
      ReduceOpen{kObject, 5},
      ReduceOpen{kObject, 5, true, 11},
      ReduceOpen{kObject, 5, true, 11, {{kObject}, kFold, "f4", std::nullopt}},
      ReduceOpen{kObject, 5, true, 11, {{kObject}, kFold, "", "f4\n"}, microseconds(7)},
      ReduceShape{kObject, 5, kLayout, kFold, "f4"},
      OneOrder(kObject, 5, 6, kOrder),
      ReduceOrders{kObject, 5, 8, {{6, kOrder}, {7, {.slot = 2, .parents = {}, .stripes = 1}}}},
      ReduceOrders{kObject, 5, 9, {}},
      ReduceClose{kObject, 5, ErrorCode::kTimeout, "too late"},
      SlotFailed{kObject, 2, kVersion, 3, kChild, ErrorCode::kPeerLost, "n3 was lost"},
      SlotFailed{kObject, 2, kVersion, 0, {}, ErrorCode::kResourceExhausted, "no memory"},
      SlotDrained{kObject, 2, kVersion, 3, kChild},
      ReduceCommit{kObject, kVersion},
      SlotProgress{kObject, 2, kVersion, {7, 8}, 12'500'000, microseconds(400)}};
  std::vector<bool> seen(std::variant_size_v<NodeEvent>, false);
  for (const NodeEvent& event : events) {
    SCOPED_TRACE(event.index());
    ExpectSurvives(event);
    auto message = ToProto(event);
    EXPECT_EQ(FromProto(message)->index(), event.index());
    seen[event.index()] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0) << "an event has no example here";
}

// By the number the shard knows which Create a Withdraw means.
TEST(DirectoryMessages, ACreateKeepsItsNumber) {
  auto message = ToProto(NodeEvent{Create{.object = kObject, .layout = kLayout, .attempt = 7}});
  EXPECT_EQ(std::get<Create>(*FromProto(message)).attempt, 7u);
}

TEST(DirectoryMessages, WhatANodeTellsOfItselfKeepsItsFields) {
  const ProcessUse kProcess{"0.1.0", 7, 8, 9, microseconds(10)};
  auto message = ToProto(NodeEvent{StoreUsage{1, 2, 3, 4, 5, 6, 7, 8, kProcess}});
  const auto usage = std::get<StoreUsage>(*FromProto(message));
  EXPECT_EQ(usage.memory_bytes, 1u);
  EXPECT_EQ(usage.used_bytes, 2u);
  EXPECT_EQ(usage.corrupt_blocks, 3u);
  EXPECT_EQ(usage.received_bytes, 4u);
  EXPECT_EQ(usage.sent_bytes, 5u);
  EXPECT_EQ(usage.told_at_us, 6u);
  EXPECT_EQ(usage.disk_bytes, 7u);
  EXPECT_EQ(usage.disk_used_bytes, 8u);
  EXPECT_EQ(usage.process, kProcess);
}

// Whoever reads it prints it.
TEST(DirectoryMessages, AVersionOfAMemberIsShortText) {
  for (const std::string& version : {std::string("\x1b[2J"), std::string(256, '1')}) {
    auto message = ToProto(NodeEvent{StoreUsage{.process = {.version = version}}});
    EXPECT_FALSE(FromProto(message)) << version;
  }
}

TEST(DirectoryMessages, APageOfWhatIsUnderWayIsAskedForAndGoesOn) {
  const protocol::PageRequest page{.after = kObject, .limit = 7, .under_way = true};
  const auto read = FromProto(ToProto(page));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->after, kObject);
  EXPECT_TRUE(read->under_way);
  v1::StatusReply reply;
  reply.set_reached(std::string(kObject.view()));
  EXPECT_EQ(FromProto(reply)->page.reached, kObject);
  reply.set_reached("short");
  EXPECT_FALSE(FromProto(reply));
}

TEST(DirectoryMessages, WhoOwnsAnIdIsSaidWithANumber) {
  auto owner = ToProto(NodeEvent{Owner{kObject, 9, true}});
  EXPECT_EQ(std::get<Owner>(*FromProto(owner)).number, 9u);
  EXPECT_TRUE(std::get<Owner>(*FromProto(owner)).own);
  auto owned = ToProto(NodeEvent{Owned{kObject, 10, false}});
  EXPECT_EQ(std::get<Owned>(*FromProto(owned)).number, 10u);
  EXPECT_FALSE(std::get<Owned>(*FromProto(owned)).own);
  EXPECT_EQ(std::get<Owned>(*FromProto(owned)).grace, std::nullopt);
  auto at_once = ToProto(NodeEvent{Owner{kObject, 9, true, microseconds(0)}});
  EXPECT_EQ(std::get<Owner>(*FromProto(at_once)).grace, microseconds(0));
  at_once.mutable_owner()->set_grace_us(~std::uint64_t{0});
  EXPECT_EQ(FromProto(at_once).error().message, "field 'grace_us' is longer than a year");
  auto create =
      ToProto(NodeEvent{Create{.object = kObject, .layout = kLayout, .owned = true, .number = 8}});
  EXPECT_EQ(std::get<Create>(*FromProto(create)).number, 8u);
  auto answer = ToProto(NodeAction{OwnerAnswer{kObject, 9, OwnerResult::kLimit}});
  EXPECT_EQ(std::get<OwnerAnswer>(*FromProto(answer)).number, 9u);
  EXPECT_EQ(std::get<OwnerAnswer>(*FromProto(answer)).result, OwnerResult::kLimit);
}

TEST(DirectoryMessages, AnOwnersAnswerThatNobodyKnowsIsRefused) {
  auto message = ToProto(NodeAction{OwnerAnswer{kObject, 9, OwnerResult::kOk}});
  message.mutable_owner_answer()->set_result(4);
  EXPECT_EQ(FromProto(message).error().code, ErrorCode::kProtocol);
}

TEST(DirectoryMessages, EveryActionComesBackAsItWas) {
  const NodeInfo node{NodeId{11}, "n11", "[::1]:80", "zone/rack"};
  const std::vector<NodeAction> actions = {
      CreateAccepted{kObject, kVersion},
      CreateAccepted{kObject, kVersion, true},
      CreateRefused{kObject, ErrorCode::kDeleted, "was deleted"},
      Located{kObject, kVersion, kLayout, "f4"},
      Located{kObject, kVersion, kLayout, "f4", true},
      Located{kObject, kVersion, kLayout, "f4", false, 9},
      OwnerAnswer{kObject, 9, OwnerResult::kOk},
      OwnerAnswer{kObject, 9, OwnerResult::kDeleted},
      OwnerAnswer{kObject, 9, OwnerResult::kLimit},
      EverOwned{kObject},
      Unowned{kObject, 12},
      InlineObject{kObject, kVersion, "f4", Bytes("bytes")},
      InlineObject{kObject, kVersion, "f4", Bytes("bytes"), {{node, 7}, {node, 8}}, 9},
      Grant{kObject, kVersion, kGrant, node, ~StripeMask{0}, true, kGrant},
      Grant{kObject, kVersion, kGrant, node, 1, false, {}},
      Recall{kObject, kVersion},
      Deleted{kObject, std::chrono::seconds(60), kVersion},
      EvictAnswer{kObject, kVersion, true},
      Location{kObject, kVersion, NodeId{11}, "n11", LocationKind::kInline},
      Location{kObject, kVersion, NodeId{11}, "n11", LocationKind::kPartial, true, kLayout, "f4",
               "zone/rack"},
      HolderLost{kObject, {"n11", true}},
      InlineFull{kObject},
      TakeCopy{kObject, kVersion},
      GiveCopy{kObject, kVersion, {{node, 7}, {node, 8}}},
      RegisterNews{
          kObject, {kVersion, kVersion, "v", {NodeId{3}, 7}}, true, RegisterOutcome::kWritten, 4},
      RegisterNews{kObject, {}, false, RegisterOutcome::kLimit},
      ReduceOpened{kObject, 5, {microseconds(40), microseconds(3), 12'500'000, true}},
      ReduceRefused{kObject, 5, ErrorCode::kAlreadyExists, "exists"},
      SlotLost{kObject, 5, 6, 2, ErrorCode::kPeerLost, "n3 was lost"},
      SlotLost{kObject, 5, 6, 2, ErrorCode::kUnavailable, "refused", NodeId{7}, NodeId{9}},
      ReduceCommitted{kObject, kVersion, 5, {kObject, ObjectId::FromName("other")}},
      ReduceCommitted{kObject, kVersion, 5, {kObject}, Bytes("sum"), "f4"},
      SlotAssigned{kObject, kVersion, kOrder, kLayout, kFold, "f4"},
      SlotFeed{kObject, 2, kVersion, 3, kChild, 1, node},
      SlotDropped{kObject, 2, kVersion},
      TargetAborted{kObject, kVersion, ErrorCode::kCancelled, "the caller cancelled", 7}};
  std::vector<bool> seen(std::variant_size_v<NodeAction>, false);
  for (const NodeAction& action : actions) {
    SCOPED_TRACE(action.index());
    ExpectSurvives(action);
    auto message = ToProto(action);
    EXPECT_EQ(FromProto(message)->index(), action.index());
    seen[action.index()] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0) << "an action has no example here";
}

TEST(DirectoryMessages, WhatTheSessionItselfSaysComesBackAsItWas) {
  ExpectSurvives(Hello{.node = {NodeId{1}, "n1", "127.0.0.1:1", "west/r7", 12'500'000},
                       .cluster = "blue",
                       .shard_index = 1,
                       .shard_count = 3,
                       .highest_incarnation = 99,
                       .shard_id = 7,
                       .holds = true,
                       .owner_number = 12,
                       .register_number = 13});
  ExpectSurvives(Welcome{.incarnation = 5,
                         .heartbeat = std::chrono::milliseconds(200),
                         .lease = std::chrono::seconds(1),
                         .tombstone = std::chrono::seconds(60),
                         .orphan_grace = std::chrono::seconds(30),
                         .remembered = true,
                         .shard_id = 77,
                         .inline_limit_bytes = 4096,
                         .members = {.addresses = {"a:1", "b:1", "c:1"}, .holder = "b:1"}});
  ExpectSurvives(Ended{.error = {ErrorCode::kAlreadyExists, "the name is in use"}, .retry = false});
  ExpectSurvives(Ended{.error = {ErrorCode::kUnavailable, "it stands by"},
                       .members = {.addresses = {"a:1", "b:1", "c:1"}, .silent = {"c:1"}}});
  ExpectSurvives(NodeView{.node = {NodeId{1}, "n1", "127.0.0.1:1"},
                          .alive = true,
                          .usage = {1 << 30, 1 << 20},
                          .bytes_per_second = 12'500'000,
                          .rate_age = std::chrono::seconds(90)});
  ExpectSurvives(ShardView{.objects = 1,
                           .inline_bytes = 2,
                           .inline_total_bytes = 3,
                           .queues = {4, 5, "n1"},
                           .moves = {{"faster", 6}, {"slow", 0}}});
  ExpectSurvives(
      ObjectView{.object = kObject,
                 .version = kVersion,
                 .size_bytes = 5,
                 .metadata = "m",
                 .inlined = true,
                 .holders = {{NodeId{1}, "n1", true, true, 5, 9, std::chrono::seconds(7)}},
                 .transfers = {{NodeId{1}, NodeId{2}, "n1", "n2", kGrant, 3}},
                 .waiters = {{NodeId{3}, "n3", "every holder is busy"}},
                 .slots = {{2, {1, 5}, 0b11, NodeId{3}, "n3", kVersion, {kObject}, 7},
                           {.slot = 1, .parents = {}, .stripes = 1}},
                 .ever_owned = true,
                 .owners = 2});
}

TEST(DirectoryMessages, TimesAreRoundedUp) {
  auto message = ToProto(NodeEvent{Tombstone{kObject, Duration(1), kVersion}});
  EXPECT_EQ(std::get<Tombstone>(*FromProto(message)).remaining, microseconds(1));
}

TEST(HostileEvents, WhatEveryEventHas) {
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{Want{kObject, kVersion, {0, 0}}}),
      {{"object", [](auto& m) { m.clear_object(); }},
       {"object",
        [](auto& m) {
          m.set_object("19 bytes, not twenty");
          m.mutable_object()->pop_back();
        }},
       {"object", [](auto& m) { m.set_object(std::string(1 << 20, 'x')); }},
       {"version", [](auto& m) { m.clear_version(); }},
       {"body", [](auto& m) { m.clear_body(); }},
       {"marks", [](auto& m) { m.mutable_want()->mutable_marks()->Resize(65, 0); }}});
}

TEST(HostileEvents, Create) {
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{
          Create{.object = kObject, .layout = Layout::For(3), .inline_bytes = Bytes("abc")}}),
      {{"layout", [](auto& m) { m.mutable_create()->clear_layout(); }},
       {"layout",
        [](auto& m) { m.mutable_create()->mutable_layout()->set_size_bytes(1ull << 63); }},
       {"layout", [](auto& m) { m.mutable_create()->mutable_layout()->set_size_bytes(~0ull); }},
       {"layout", [](auto& m) { m.mutable_create()->mutable_layout()->set_block_bytes(0); }},
       {"layout", [](auto& m) { m.mutable_create()->mutable_layout()->set_run_bytes(1); }},
       {"layout", [](auto& m) { m.mutable_create()->mutable_layout()->set_stripe_count(65); }},
       {"metadata", [](auto& m) { m.mutable_create()->set_metadata(std::string(4097, 'm')); }},
       {"inline_bytes", [](auto& m) { m.mutable_create()->set_inline_bytes("four"); }},
       {"inline_bytes",
        [](auto& m) { m.mutable_create()->set_inline_bytes(std::string(1 << 20, 'x')); }}});
}

void AddUpstream(v1::NodeEvent& to, std::uint64_t node, std::uint64_t grant,
                 std::uint64_t stripes) {
  v1::Upstream& upstream = *to.mutable_held()->add_upstreams();
  upstream.set_node(node);
  upstream.mutable_grant()->set_incarnation(grant == 0 ? 0 : 7);
  upstream.mutable_grant()->set_sequence(grant);
  upstream.set_stripes(stripes);
}

TEST(HostileEvents, Held) {
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{Held{.object = kObject,
                             .version = kVersion,
                             .layout = kLayout,
                             .marks = kLayout.full_marks(),
                             .complete = true}}),
      {{"layout", [](auto& m) { m.mutable_held()->clear_layout(); }},
       {"metadata", [](auto& m) { m.mutable_held()->set_metadata(std::string(4097, 'm')); }},
       {"marks", [](auto& m) { m.mutable_held()->clear_marks(); }},
       {"marks", [](auto& m) { m.mutable_held()->set_marks(0, 0xffffffffu); }},
       {"complete", [](auto& m) { m.mutable_held()->set_marks(0, 0); }},
       {"produces", [](auto& m) { m.mutable_held()->set_produces(4); }},
       {"upstreams", [](auto& m) { AddUpstream(m, 0, 10, 1); }},
       {"upstreams", [](auto& m) { AddUpstream(m, 3, 0, 1); }},
       {"upstreams", [](auto& m) { AddUpstream(m, 3, 10, 0); }},
       {"upstreams", [](auto& m) { AddUpstream(m, 3, 10, 4); }},
       {"upstreams",
        [](auto& m) {
          AddUpstream(m, 3, 10, 1);
          AddUpstream(m, 4, 11, 3);
        }},
       // If one were believed, no node could be given a next incarnation or version.
       {"version", [](auto& m) { m.mutable_version()->set_incarnation(1ull << 63); }},
       {"version", [](auto& m) { m.mutable_version()->set_sequence(~0ull); }},
       {"version", [](auto& m) { m.clear_version(); }}});
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{HeldBytes{kObject, kVersion, Bytes("x")}}),
      {{"data", [](auto& m) { m.mutable_held_bytes()->set_data(std::string((1 << 16) + 1, 'x')); }},
       {"version", [](auto& m) { m.clear_version(); }}});
}

TEST(HostileEvents, RegisterUse) {
  const std::string too_long(kMostRegisterBytes + 1, 'x');
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{RegisterUse{kObject, 9, true, kVersion,
                                    RegisterContents{kVersion, {}, "v", {NodeId{3}, 7}},
                                    RegisterCall{4, CompareAndSet{kVersion, "w", true}}}}),
      {{"value", [&](auto& m) { m.mutable_register_use()->mutable_knows()->set_value(too_long); }},
       {"value", [&](auto& m) { m.mutable_register_use()->mutable_write()->set_value(too_long); }},
       {"version",
        [](auto& m) {
          m.mutable_register_use()->mutable_knows()->mutable_version()->set_sequence(~0ull);
        }},
       {"claim",
        [](auto& m) {
          auto& claim = *m.mutable_register_use()->mutable_knows()->mutable_claim();
          claim.set_incarnation(kVersion.incarnation + 1);
        }},
       {"claim", [](auto& m) { m.mutable_register_use()->mutable_claim()->set_incarnation(0); }},
       {"expected",
        [](auto& m) {
          m.mutable_register_use()->mutable_write()->mutable_expected()->set_incarnation(0);
        }},
       {"call", [](auto& m) { m.mutable_register_use()->set_call(0); }}});
}

TEST(HostileEvents, ToldWaits) {
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{ToldWaits{{{kObject, "no memory"}}}}),
      {{"waits",
        [](auto& m) {
          auto& all = *m.mutable_told_waits()->mutable_waits();
          while (all.size() <= 64) *all.Add() = all.Get(0);
        }},
       {"object", [](auto& m) { m.mutable_told_waits()->mutable_waits(0)->clear_object(); }},
       {"why", [](auto& m) {
          m.mutable_told_waits()->mutable_waits(0)->set_why(std::string(1025, 'x'));
        }}});
}

TEST(HostileEvents, EnumsAndTimes) {
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{GrantClosed{kObject, kVersion, kGrant, Outcome::kDone, {}, {}}}),
      {{"grant", [](auto& m) { m.mutable_grant_closed()->clear_grant(); }},
       {"outcome", [](auto& m) { m.mutable_grant_closed()->set_outcome(0); }},
       {"outcome", [](auto& m) { m.mutable_grant_closed()->set_outcome(5); }},
       {"failure", [](auto& m) { m.mutable_grant_closed()->set_failure(7); }},
       {"failure", [](auto& m) { m.mutable_grant_closed()->set_failure(256); }},
       {"marks", [](auto& m) { m.mutable_grant_closed()->mutable_marks()->Resize(100, 1); }}});
  ExpectNamed<v1::NodeEvent>(ToProto(NodeEvent{CopyGone{kObject, kVersion}}),
                             {{"reason", [](auto& m) { m.mutable_copy_gone()->set_reason(9); }}});
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{Progress{kObject, kVersion, {}, 0, {}}}),
      {{"starved_us", [](auto& m) { m.mutable_progress()->set_starved_us(~0ull); }}});
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{Tombstone{kObject, {}, kVersion}}),
      {{"remaining_us", [](auto& m) { m.mutable_tombstone()->set_remaining_us(1ull << 63); }}});
}

TEST(HostileActions, EveryField) {
  ExpectNamed<v1::NodeAction>(
      ToProto(
          NodeAction{Grant{kObject, kVersion, kGrant, {NodeId{1}, "n", "h:1"}, 1, false, kGrant}}),
      {{"object", [](auto& m) { m.set_object("short"); }},
       {"version", [](auto& m) { m.clear_version(); }},
       {"body", [](auto& m) { m.clear_body(); }},
       {"grant", [](auto& m) { m.mutable_grant()->clear_grant(); }},
       {"source", [](auto& m) { m.mutable_grant()->clear_source(); }},
       {"source", [](auto& m) { m.mutable_grant()->mutable_source()->set_address("nowhere"); }},
       {"replaces", [](auto& m) { m.mutable_grant()->mutable_replaces()->Clear(); }}});
  ExpectNamed<v1::NodeAction>(
      ToProto(NodeAction{Located{kObject, kVersion, kLayout, ""}}),
      {{"layout", [](auto& m) { m.mutable_located()->mutable_layout()->set_block_bytes(3); }},
       {"metadata", [](auto& m) { m.mutable_located()->set_metadata(std::string(5000, 'm')); }}});
  ExpectNamed<v1::NodeAction>(
      ToProto(NodeAction{CreateRefused{kObject, ErrorCode::kDeleted, ""}}),
      {{"code", [](auto& m) { m.mutable_create_refused()->set_code(0); }},
       {"code", [](auto& m) { m.mutable_create_refused()->set_code(17); }}});
  ExpectNamed<v1::NodeAction>(
      ToProto(NodeAction{InlineObject{kObject, kVersion, "", Bytes("x")}}),
      {{"data", [](auto& m) { m.mutable_inline_object()->set_data(std::string(1 << 20, 'x')); }},
       {"metadata",
        [](auto& m) { m.mutable_inline_object()->set_metadata(std::string(5000, 'm')); }},
       {"onward", [](auto& m) { m.mutable_inline_object()->add_onward(); }},
       {"onward", [](auto& m) {
          const NodeInfo node{NodeId{11}, "n11", "[::1]:80", "zone/rack"};
          m = ToProto(
              NodeAction{InlineObject{kObject, kVersion, "", Bytes("x"), {256, {node, 1}}}});
        }}});
  ExpectNamed<v1::NodeAction>(
      ToProto(NodeAction{Location{kObject, kVersion, NodeId{1}, "n", LocationKind::kGone}}),
      {{"kind", [](auto& m) { m.mutable_location()->set_kind(5); }}});
}

TEST(HostileHello, EveryField) {
  ExpectNamed<v1::Hello>(
      ToProto(Hello{.node = {NodeId{1}, "n1", "127.0.0.1:1"}, .shard_count = 1}),
      {{"node", [](auto& m) { m.set_node(0); }},
       {"name", [](auto& m) { m.clear_name(); }},
       {"name", [](auto& m) { m.set_name(std::string(256, 'n')); }},
       {"name", [](auto& m) { m.set_name("line\nbreak"); }},
       {"address", [](auto& m) { m.set_address("127.0.0.1"); }},
       {"address", [](auto& m) { m.set_address(std::string(100'000, '1') + ":1"); }},
       {"cluster", [](auto& m) { m.set_cluster(std::string(256, 'c')); }},
       {"site", [](auto& m) { m.set_site(std::string(256, 's')); }},
       {"site", [](auto& m) { m.set_site("line\nbreak"); }},
       {"shard_index", [](auto& m) { m.set_shard_count(0); }},
       {"shard_index", [](auto& m) { m.set_shard_index(1); }},
       {"highest_incarnation", [](auto& m) { m.set_highest_incarnation(~0ull); }}});
}

// Of a shard that does not say it yet.
TEST(DirectoryMessages, AWelcomeWithoutALimitAllowsWhatAnyShardMay) {
  v1::Welcome message = ToProto(Welcome{.heartbeat = std::chrono::milliseconds(200)});
  message.clear_inline_limit_bytes();
  const auto welcome = FromProto(message);
  ASSERT_TRUE(welcome) << welcome.error().ToString();
  EXPECT_EQ(welcome->inline_limit_bytes, kMaxInlineBytes);
}

TEST(HostileWelcome, TimesThatCannotBe) {
  ExpectNamed<v1::Welcome>(
      ToProto(Welcome{.incarnation = 1, .heartbeat = std::chrono::milliseconds(200)}),
      {{"heartbeat_us", [](auto& m) { m.set_heartbeat_us(0); }},
       {"lease_us", [](auto& m) { m.set_lease_us(~0ull); }},
       {"tombstone_us", [](auto& m) { m.set_tombstone_us(~0ull); }},
       {"inline_limit_bytes", [](auto& m) { m.set_inline_limit_bytes(64 * 1024 + 1); }}});
  ExpectNamed<v1::Ended>(ToProto(Ended{.error = {ErrorCode::kInternal, ""}}),
                         {{"code", [](auto& m) { m.set_code(200); }}});
}

// One bad event spoils its message, wherever it stands.
TEST(DirectoryMessages, AMessageIsTakenWholeOrNotAtAll) {
  v1::NodeMessage message;
  *message.add_events() = ToProto(NodeEvent{Locate{kObject}});
  message.add_events();
  EXPECT_FALSE(FromProto(message));
}

}  // namespace
}  // namespace hoplite::wire
