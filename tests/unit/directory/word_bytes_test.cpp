// How large a session takes its words for, beside what they are on the wire.
#include "directory/word_bytes.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "wire/directory_messages.h"

namespace hoplite::directory {
namespace {

using namespace protocol;

const ObjectId kObject = ObjectId::FromName("it");
constexpr Version kVersion{{1'700'000'000'000'000, 2}};

// A session that counts less than it sends has more under way than its receiver allows (R43).
template <typename Word>
void ExpectCounted(const Word& word) {
  const std::size_t sent = wire::ToProto(word).ByteSizeLong();
  EXPECT_GE(WordBytes(word), sent * 9 / 10) << "word " << word.index();
  EXPECT_LE(WordBytes(word), sent * 3 + 256) << "word " << word.index();
}

TEST(WordBytesTest, EveryPartOfALargeWordCounts) {
  const std::string text(1000, 't');
  const NodeInfo node{NodeId{1}, "a node of some name", "192.168.100.100:12345"};
  const SlotOrder order{.slot = 3, .parents = {1, 2}, .inputs = {{kObject, kVersion}}};
  ExpectCounted(NodeEvent{InventoryEnd{}});
  ExpectCounted(NodeEvent{
      Create{kObject, Layout::For(1000), text, std::make_shared<const std::string>(text)}});
  ExpectCounted(NodeEvent{Held{.object = kObject,
                               .version = kVersion,
                               .layout = Layout::For(1 << 30),
                               .metadata = text,
                               .marks = Layout::For(1 << 30).full_marks()}});
  ExpectCounted(NodeEvent{ToldWaits{std::vector<Wait>(kMostWaits, Wait{kObject, text})}});
  ExpectCounted(NodeEvent{ReduceOrders{kObject, 5, 8, std::vector(100, PlannedOrder{6, order})}});
  ExpectCounted(NodeEvent{RegisterUse{.object = kObject,
                                      .open = true,
                                      .knows = RegisterContents{kVersion, kVersion, text},
                                      .call = RegisterCall{4, CompareAndSet{kVersion, text}}}});
  ExpectCounted(NodeEvent{ReduceClose{kObject, 5, ErrorCode::kTimeout, text}});
  ExpectCounted(NodeAction{GiveCopy{kObject, kVersion, std::vector(255, Onward{node, 7})}});
  ExpectCounted(NodeAction{HolderLost{kObject, {text, true}}});
  ExpectCounted(NodeAction{RegisterNews{.object = kObject, .entry = {kVersion, kVersion, text}}});
  ExpectCounted(NodeAction{SlotAssigned{kObject, kVersion, order, Layout::For(1000), {}, text}});
}

}  // namespace
}  // namespace hoplite::directory
