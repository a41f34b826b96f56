#include <unordered_set>

#include <gtest/gtest.h>

#include <hoplite/object_id.h>

namespace hoplite {
namespace {

TEST(ObjectId, HexGoesThereAndBack) {
  const ObjectId id = ObjectId::Random();
  const auto parsed = ObjectId::Parse(id.ToHex());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, id);
}

TEST(ObjectId, NamesAreStable) {
  EXPECT_EQ(ObjectId::FromName("x"), *ObjectId::Parse("name:x"));
  EXPECT_NE(ObjectId::FromName("x"), ObjectId::FromName("y"));
}

TEST(ObjectId, BadTextIsNamedInTheError) {
  const auto parsed = ObjectId::Parse("12zz");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(parsed.error().message.find("12zz"), std::string::npos);
  EXPECT_FALSE(ObjectId::FromBytes("short"));
}

TEST(ObjectId, AMillionRandomIdsHaveNoDuplicate) {
  std::unordered_set<ObjectId> seen;
  for (int i = 0; i < 1'000'000; ++i) ASSERT_TRUE(seen.insert(ObjectId::Random()).second);
}

}  // namespace
}  // namespace hoplite
