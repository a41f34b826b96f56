// What sources have to have in common.
#include "planner/reduce/source_kind.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/elements.h"

namespace hoplite::planner {
namespace {

using ::testing::AllOf;
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
  SourceKind kind(Op::kSum, DType::kFloat32, std::nullopt);
  EXPECT_EQ(Complaint(kind, kOne, "a"), "");
  EXPECT_EQ(Complaint(kind, kTwo, "b"), "");
  EXPECT_TRUE(kind.Fits("c"));
}

TEST(SourceKind, TheFirstDecidesAndBothAreNamed) {
  SourceKind kind(Op::kSum, DType::kFloat32, "");
  EXPECT_TRUE(kind.Fits("rows"));
  EXPECT_EQ(Complaint(kind, kOne, "columns"), "");
  EXPECT_FALSE(kind.Fits("rows"));
  EXPECT_EQ(Complaint(kind, kTwo, "rows"), "source " + kOne.ToHex() +
                                               " is described as 'columns', but source " +
                                               kTwo.ToHex() + " as 'rows'");
  EXPECT_EQ(Complaint(kind, kOne, "columns"), "") << "told again";
}

TEST(SourceKind, OnlyTheFirstLineCounts) {
  SourceKind kind(Op::kSum, DType::kFloat32, "");
  EXPECT_EQ(Complaint(kind, kOne, "rows\nof Monday"), "");
  EXPECT_EQ(Complaint(kind, kTwo, "rows\nof Tuesday"), "");
  EXPECT_TRUE(kind.Fits("rows"));
  EXPECT_NE(Complaint(kind, kTwo, "row\ns"), "");
}

TEST(SourceKind, WhatHasNoMetadataIsTakenAndDecidesNothing) {
  SourceKind kind(Op::kSum, DType::kFloat32, "r");
  EXPECT_EQ(Complaint(kind, kOne, ""), "");
  EXPECT_EQ(Complaint(kind, kTwo, "rows"), "");
  EXPECT_TRUE(kind.Fits(""));
}

TEST(SourceKind, TheBeginningIsDemandedOfTheFirstToo) {
  SourceKind kind(Op::kSum, DType::kFloat32, "float32 ");
  EXPECT_FALSE(kind.Fits("int8 rows"));
  EXPECT_EQ(Complaint(kind, kOne, "int8 rows"),
            "the reduction is of what begins with 'float32 ', but source " + kOne.ToHex() +
                " is described as 'int8 rows'");
  EXPECT_EQ(Complaint(kind, kTwo, "float32 rows"), "") << "what was refused decides nothing";
}

// Errors are text, wherever they are shown.
TEST(SourceKind, MetadataThatIsNoTextIsNotShown) {
  SourceKind kind(Op::kSum, DType::kFloat32, "");
  EXPECT_EQ(Complaint(kind, kOne, "\xff\xfe\x01"), "");
  EXPECT_THAT(Complaint(kind, kTwo, "rows"), HasSubstr("3 bytes that are no text"));
  const std::string complaint = Complaint(kind, kTwo, std::string(4000, 'x'));
  EXPECT_THAT(complaint, HasSubstr("xxx...'"));
  EXPECT_LT(complaint.size(), 500u);
  EXPECT_THAT(complaint, Not(HasSubstr("\xff")));
}

// --- elements

std::string Noted(DType dtype) { return protocol::WithElements(dtype, "theirs"); }

TEST(SourceKind, TheFirstSourceDecidesOnTheDType) {
  SourceKind kind(Op::kSum, std::nullopt, std::nullopt);
  EXPECT_EQ(kind.dtype(), std::nullopt);
  EXPECT_EQ(Complaint(kind, kOne, Noted(DType::kFloat64)), "");
  EXPECT_EQ(kind.dtype(), DType::kFloat64);
  EXPECT_TRUE(kind.Fits(Noted(DType::kFloat64)));
  EXPECT_FALSE(kind.Fits(Noted(DType::kInt32)));
  EXPECT_THAT(Complaint(kind, kTwo, Noted(DType::kInt32)),
              AllOf(HasSubstr(kOne.ToHex() + " is of float64"),
                    HasSubstr("source " + kTwo.ToHex() + " of int32")));
}

TEST(SourceKind, ASourceMayNotContradictTheDTypeThatWasAskedFor) {
  SourceKind kind(Op::kSum, DType::kFloat32, std::nullopt);
  EXPECT_THAT(Complaint(kind, kOne, Noted(DType::kInt32)),
              AllOf(HasSubstr("the reduction is of float32"),
                    HasSubstr("source " + kOne.ToHex() + " of int32")));
  EXPECT_EQ(Complaint(kind, kTwo, ""), "") << "of bytes nothing is known";
}

TEST(SourceKind, BytesNeedADType) {
  SourceKind kind(Op::kSum, std::nullopt, std::nullopt);
  EXPECT_FALSE(kind.Fits(""));
  EXPECT_THAT(Complaint(kind, kOne, "theirs"), HasSubstr(kOne.ToHex() + " does not say"));
  EXPECT_EQ(Complaint(kind, kTwo, Noted(DType::kInt8)), "");
  EXPECT_THAT(Complaint(kind, kOne, ""), HasSubstr("does not say")) << "nor do they come later";
}

TEST(SourceKind, AnOpHasToFitWhatTheFirstSourceIs) {
  SourceKind kind(Op::kXor, std::nullopt, std::nullopt);
  EXPECT_THAT(Complaint(kind, kOne, Noted(DType::kFloat32)), HasSubstr("xor works on integers"));
}

TEST(SourceKind, UsersMetadataIsComparedWithoutTheNote) {
  SourceKind kind(Op::kSum, DType::kFloat32, "the");
  EXPECT_EQ(Complaint(kind, kOne, Noted(DType::kFloat32)), "");
  EXPECT_EQ(Complaint(kind, kTwo, "theirs"), "");
}

}  // namespace
}  // namespace hoplite::planner
