// Messages of reductions in which one field is impossible: each is refused, and the error names the
// field.
#include <string>

#include <gtest/gtest.h>

#include <hoplite/reduce.h>

#include "base/reduce_types.h"
#include "message_checks.h"
#include "wire/directory_messages.h"

namespace hoplite::wire {
namespace {

using namespace protocol;  // NOLINT(google-build-using-namespace): the events and actions converted

const ObjectId kTarget = ObjectId::FromName("target");
const ObjectId kSource = ObjectId::FromName("source");
const Version kTargetVersion{{.incarnation = 7, .sequence = 9}};
const Version kChildVersion{{.incarnation = 7, .sequence = 11}};
const Layout kTargetLayout = Layout::For(4000);
const Fold kSumOfFloats{Op::kSum, DType::kFloat32};
const SlotOrder kOneSource{2, {1}, 0b11, 3, NodeId{11}, {{kSource, kTargetVersion}}};
constexpr std::uint32_t kBeyond = kMaxSlots + 1;
const auto kNoDType = static_cast<std::uint32_t>(AllDTypes().size() + 1);
const auto kNoOp = static_cast<std::uint32_t>(AllOps().size() + 1);

// What is wrong with a fold or its layout, wherever they stand.
template <typename Message, typename Body>
std::vector<Spoiled<Message>> BadShapes(Body body) {
  return {
      {"op", [=](auto& m) { body(m)->mutable_fold()->set_op(0); }},
      {"op", [=](auto& m) { body(m)->mutable_fold()->set_op(kNoOp); }},
      {"op", [=](auto& m) { body(m)->mutable_fold()->set_op(257); }},
      {"op", [=](auto& m) { body(m)->mutable_fold()->set_op(5); }},  // and of floats
      {"op",
       [=](auto& m) {
         body(m)->mutable_fold()->set_op(8);  // the mean of integers
         body(m)->mutable_fold()->set_dtype(3);
       }},
      {"sources", [=](auto& m) { body(m)->mutable_fold()->set_sources(0); }},
      {"sources", [=](auto& m) { body(m)->mutable_fold()->set_sources(kMaxReduceSources + 1); }},
      {"dtype", [=](auto& m) { body(m)->mutable_fold()->set_dtype(0); }},
      {"dtype", [=](auto& m) { body(m)->mutable_fold()->set_dtype(kNoDType); }},
      {"dtype", [=](auto& m) { body(m)->mutable_fold()->set_dtype(256 + 11); }},
      {"op", [=](auto& m) { body(m)->clear_fold(); }},
      {"folded_bytes", [=](auto& m) { body(m)->mutable_fold()->set_folded_bytes(4004); }},
      {"folded_bytes", [=](auto& m) { body(m)->mutable_fold()->set_folded_bytes(10); }},
      {"layout", [=](auto& m) { body(m)->clear_layout(); }},
      {"layout", [=](auto& m) { body(m)->mutable_layout()->set_block_bytes(3); }},
      {"layout", [=](auto& m) { body(m)->mutable_layout()->set_size_bytes(3999); }},
      {"metadata", [=](auto& m) { body(m)->set_metadata(std::string(4097, 'm')); }}};
}

template <typename Message, typename Body>
std::vector<Spoiled<Message>> BadOrders(Body body) {
  const auto order = [=](Message& m) { return body(m)->mutable_order(); };
  return {{"slot", [=](auto& m) { body(m)->clear_order(); }},
          {"slot", [=](auto& m) { order(m)->set_slot(0); }},
          {"slot", [=](auto& m) { order(m)->set_slot(kBeyond); }},
          {"parent", [=](auto& m) { order(m)->set_parents(0, 2); }},
          {"parent", [=](auto& m) { order(m)->set_parents(0, 0); }},
          {"parent", [=](auto& m) { order(m)->set_parents(0, kBeyond); }},
          {"parents", [=](auto& m) { order(m)->mutable_parents()->Resize(65, 1); }},
          {"stripes", [=](auto& m) { order(m)->clear_stripes(); }},
          {"children", [=](auto& m) { order(m)->set_children(~0u); }},
          {"object", [=](auto& m) { order(m)->mutable_inputs(0)->set_object("short"); }},
          {"version", [=](auto& m) { order(m)->mutable_inputs(0)->clear_version(); }},
          {"inputs", [=](auto& m) {
             const auto input = order(m)->inputs(0);
             while (order(m)->inputs_size() <= static_cast<int>(kMaxReduceSources)) {
               *order(m)->add_inputs() = input;
             }
           }}};
}

TEST(HostileReduceEvents, Open) {
  const auto fold = [](auto& m) { return m.mutable_reduce_open()->mutable_shard_fold(); };
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{ReduceOpen{kTarget, 5, false, 0, {{kSource}, kSumOfFloats, "m", "m"}}}),
      {{"sources", [=](auto& m) { fold(m)->clear_sources(); }},
       {"sources",
        [=](auto& m) {
          for (std::size_t i = 0; i < ShardFold::kMostSources; ++i)
            fold(m)->add_sources(std::string(20, 's'));
        }},
       {"object", [=](auto& m) { fold(m)->add_sources("19 bytes"); }},
       {"op", [=](auto& m) { fold(m)->clear_fold(); }},
       {"metadata", [=](auto& m) { fold(m)->set_metadata(std::string(4097, 'm')); }},
       {"alike", [=](auto& m) { fold(m)->set_alike(std::string(4097, 'm')); }}});
}

TEST(HostileReduceEvents, Shape) {
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{ReduceShape{kTarget, 5, kTargetLayout, kSumOfFloats, "f4"}}),
      BadShapes<v1::NodeEvent>([](auto& m) { return m.mutable_reduce_shape(); }));
}

TEST(HostileReduceEvents, Orders) {
  ExpectNamed<v1::NodeEvent>(ToProto(NodeEvent{ReduceOrders{kTarget, 5, 7, {{6, kOneSource}}}}),
                             BadOrders<v1::NodeEvent>([](auto& m) {
                               return m.mutable_reduce_orders()->mutable_orders(0);
                             }));
}

TEST(HostileReduceEvents, WhatParticipantsSay) {
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{SlotFailed{kTarget, 2, kTargetVersion, 3, kChildVersion,
                                   ErrorCode::kPeerLost, "n3 was lost"}}),
      {{"version", [](auto& m) { m.clear_version(); }},
       {"slot", [](auto& m) { m.mutable_slot_failed()->set_slot(0); }},
       {"slot", [](auto& m) { m.mutable_slot_failed()->set_slot(kBeyond); }},
       {"input", [](auto& m) { m.mutable_slot_failed()->set_input(2); }},
       {"input", [](auto& m) { m.mutable_slot_failed()->set_input(kBeyond); }},
       {"input_version", [](auto& m) { m.mutable_slot_failed()->clear_input_version(); }},
       {"code", [](auto& m) { m.mutable_slot_failed()->set_code(0); }},
       {"code", [](auto& m) { m.mutable_slot_failed()->set_code(99); }}});
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{SlotDrained{kTarget, 2, kTargetVersion, 3, kChildVersion}}),
      {{"version", [](auto& m) { m.clear_version(); }},
       {"slot", [](auto& m) { m.mutable_slot_drained()->set_slot(0); }},
       {"input", [](auto& m) { m.mutable_slot_drained()->set_input(0); }},
       {"input", [](auto& m) { m.mutable_slot_drained()->set_input(2); }},
       {"input_version", [](auto& m) { m.mutable_slot_drained()->clear_input_version(); }}});
  ExpectNamed<v1::NodeEvent>(
      ToProto(NodeEvent{SlotProgress{kTarget, 2, kTargetVersion, {1}, 0}}),
      {{"version", [](auto& m) { m.clear_version(); }},
       {"slot", [](auto& m) { m.mutable_slot_progress()->set_slot(kBeyond); }},
       {"marks", [](auto& m) { m.mutable_slot_progress()->mutable_marks()->Resize(65, 0); }}});
  ExpectNamed<v1::NodeEvent>(ToProto(NodeEvent{ReduceCommit{kTarget, kTargetVersion}}),
                             {{"object", [](auto& m) { m.set_object("short"); }},
                              {"version", [](auto& m) { m.clear_version(); }}});
  ExpectNamed<v1::NodeEvent>(ToProto(NodeEvent{ReduceClose{kTarget, 5, ErrorCode::kCancelled, ""}}),
                             {{"object", [](auto& m) { m.clear_object(); }},
                              {"code", [](auto& m) { m.mutable_reduce_close()->set_code(17); }}});
}

TEST(HostileReduceActions, ToTheCoordinator) {
  ExpectNamed<v1::NodeAction>(
      ToProto(NodeAction{ReduceOpened{kTarget, 5, {}}}),
      {{"latency_us",
        [](auto& m) { m.mutable_reduce_opened()->mutable_link()->set_latency_us(~0ull); }},
       {"overhead_us",
        [](auto& m) { m.mutable_reduce_opened()->mutable_link()->set_overhead_us(~0ull); }},
       {"bytes_per_second",
        [](auto& m) { m.mutable_reduce_opened()->mutable_link()->set_bytes_per_second(0); }},
       {"bytes_per_second", [](auto& m) { m.mutable_reduce_opened()->clear_link(); }}});
  ExpectNamed<v1::NodeAction>(
      ToProto(NodeAction{ReduceRefused{kTarget, 5, ErrorCode::kDeleted, ""}}),
      {{"code", [](auto& m) { m.mutable_reduce_refused()->set_code(0); }}});
  ExpectNamed<v1::NodeAction>(
      ToProto(NodeAction{SlotLost{kTarget, 5, 6, 2, ErrorCode::kPeerLost, ""}}),
      {{"slot", [](auto& m) { m.mutable_slot_lost()->set_slot(0); }},
       {"code", [](auto& m) { m.mutable_slot_lost()->set_code(99); }}});
  ExpectNamed<v1::NodeAction>(
      ToProto(NodeAction{ReduceCommitted{kTarget, kTargetVersion, 5, {kSource}}}),
      {{"version", [](auto& m) { m.clear_version(); }},
       {"object", [](auto& m) { m.mutable_reduce_committed()->add_used("19 bytes"); }},
       {"used",
        [](auto& m) {
          const std::string id(20, 'u');
          for (std::size_t i = 0; i < kMaxReduceSources; ++i)
            m.mutable_reduce_committed()->add_used(id);
        }},
       {"inline_bytes",
        [](auto& m) {
          m.mutable_reduce_committed()->set_inline_bytes(std::string(65 * 1024, 'x'));
        }},
       {"metadata",
        [](auto& m) { m.mutable_reduce_committed()->set_metadata(std::string(5000, 'x')); }}});
}

TEST(HostileReduceActions, Assigned) {
  const auto body = [](auto& m) { return m.mutable_slot_assigned(); };
  const v1::NodeAction good = ToProto(NodeAction{
      SlotAssigned{kTarget, kTargetVersion, kOneSource, kTargetLayout, kSumOfFloats, "f4"}});
  ExpectNamed<v1::NodeAction>(good, BadShapes<v1::NodeAction>(body));
  ExpectNamed<v1::NodeAction>(good, BadOrders<v1::NodeAction>(body));
  ExpectNamed<v1::NodeAction>(good,
                              {{"version", [](auto& m) { m.clear_version(); }},
                               {"node", [=](auto& m) { body(m)->mutable_order()->set_node(0); }}});
}

TEST(HostileReduceActions, ToOthers) {
  ExpectNamed<v1::NodeAction>(
      ToProto(NodeAction{
          SlotFeed{kTarget, 2, kTargetVersion, 3, kChildVersion, 1, {NodeId{1}, "n", "h:1"}}}),
      {{"version", [](auto& m) { m.clear_version(); }},
       {"slot", [](auto& m) { m.mutable_slot_feed()->set_slot(kBeyond); }},
       {"input", [](auto& m) { m.mutable_slot_feed()->set_input(0); }},
       {"input", [](auto& m) { m.mutable_slot_feed()->set_input(2); }},
       {"input_version", [](auto& m) { m.mutable_slot_feed()->clear_input_version(); }},
       {"source", [](auto& m) { m.mutable_slot_feed()->clear_source(); }},
       {"source",
        [](auto& m) { m.mutable_slot_feed()->mutable_source()->set_address("nowhere"); }}});
  ExpectNamed<v1::NodeAction>(ToProto(NodeAction{SlotDropped{kTarget, 2, kTargetVersion}}),
                              {{"version", [](auto& m) { m.clear_version(); }},
                               {"slot", [](auto& m) { m.mutable_slot_dropped()->set_slot(0); }}});
  ExpectNamed<v1::NodeAction>(
      ToProto(NodeAction{TargetAborted{kTarget, {}, ErrorCode::kCancelled, ""}}),
      {{"object", [](auto& m) { m.set_object("short"); }},
       {"code", [](auto& m) { m.mutable_target_aborted()->set_code(17); }}});
}

}  // namespace
}  // namespace hoplite::wire
