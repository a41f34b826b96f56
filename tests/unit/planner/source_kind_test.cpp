// What sources have to have in common.
#include "planner/source_kind.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::planner {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const ObjectId kOne = ObjectId::FromName("one");
const ObjectId kTwo = ObjectId::FromName("two");

std::string Complaint(SourceKind& kind, const ObjectId& source, std::string_view metadata) {
  const auto heard = kind.Hear(source, metadata);
  if (heard) return "";
  EXPECT_EQ(heard.error().code, ErrorCode::kInvalidArgument);
  return heard.error().message;
}

TEST(SourceKind, WhereNothingIsDemandedEverythingFits) {
  SourceKind kind(std::nullopt);
  EXPECT_EQ(Complaint(kind, kOne, "a"), "");
  EXPECT_EQ(Complaint(kind, kTwo, "b"), "");
  EXPECT_TRUE(kind.Fits("c"));
}

TEST(SourceKind, TheFirstDecidesAndBothAreNamed) {
  SourceKind kind("");
  EXPECT_TRUE(kind.Fits("rows"));
  EXPECT_EQ(Complaint(kind, kOne, "columns"), "");
  EXPECT_FALSE(kind.Fits("rows"));
  EXPECT_EQ(Complaint(kind, kTwo, "rows"), "source " + kOne.ToHex() +
                                               " is described as 'columns', but source " +
                                               kTwo.ToHex() + " as 'rows'");
  EXPECT_EQ(Complaint(kind, kOne, "columns"), "") << "told again";
}

TEST(SourceKind, OnlyTheFirstLineCounts) {
  SourceKind kind("");
  EXPECT_EQ(Complaint(kind, kOne, "rows\nof Monday"), "");
  EXPECT_EQ(Complaint(kind, kTwo, "rows\nof Tuesday"), "");
  EXPECT_TRUE(kind.Fits("rows"));
  EXPECT_NE(Complaint(kind, kTwo, "row\ns"), "");
}

TEST(SourceKind, WhatHasNoMetadataIsTakenAndDecidesNothing) {
  SourceKind kind("r");
  EXPECT_EQ(Complaint(kind, kOne, ""), "");
  EXPECT_EQ(Complaint(kind, kTwo, "rows"), "");
  EXPECT_TRUE(kind.Fits(""));
}

TEST(SourceKind, TheBeginningIsDemandedOfTheFirstToo) {
  SourceKind kind("float32 ");
  EXPECT_FALSE(kind.Fits("int8 rows"));
  EXPECT_EQ(Complaint(kind, kOne, "int8 rows"),
            "the reduction is of what begins with 'float32 ', but source " + kOne.ToHex() +
                " is described as 'int8 rows'");
  EXPECT_EQ(Complaint(kind, kTwo, "float32 rows"), "") << "what was refused decides nothing";
}

// Errors are text, wherever they are shown.
TEST(SourceKind, MetadataThatIsNoTextIsNotShown) {
  SourceKind kind("");
  EXPECT_EQ(Complaint(kind, kOne, "\xff\xfe\x01"), "");
  EXPECT_THAT(Complaint(kind, kTwo, "rows"), HasSubstr("3 bytes that are no text"));
  const std::string complaint = Complaint(kind, kTwo, std::string(4000, 'x'));
  EXPECT_THAT(complaint, HasSubstr("xxx...'"));
  EXPECT_LT(complaint.size(), 500u);
  EXPECT_THAT(complaint, Not(HasSubstr("\xff")));
}

}  // namespace
}  // namespace hoplite::planner
