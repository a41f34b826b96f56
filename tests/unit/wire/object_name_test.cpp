// The notes that stand before the user's own metadata: a name, and the type of the elements.
#include "protocol/object_name.h"

#include <string>

#include <gtest/gtest.h>

#include "protocol/elements.h"
#include "protocol/failure.h"

namespace hoplite::protocol {
namespace {

const ObjectId kX = ObjectId::FromName("x");

TEST(ObjectName, StandsBeforeAllElse) {
  const std::string noted = WithName("x", WithElements(DType::kFloat32, "users"));
  EXPECT_EQ(NameIn(noted, kX), "x");
  EXPECT_EQ(ElementsIn(noted), DType::kFloat32);
  EXPECT_EQ(UsersPart(noted), "users");
  EXPECT_EQ(UsersPart(WithName("x", "users")), "users");
  EXPECT_EQ(NameIn(WithElements(DType::kFloat32, "users"), kX), "");
  EXPECT_EQ(WithName("", "users"), "users");
}

TEST(ObjectName, AnErrorInItsPlaceKeepsIt) {
  const std::string noted = WithName("x", FailureMetadata(Error(ErrorCode::kFailed, "why")));
  EXPECT_EQ(FailureIn(noted)->message, "why");
  EXPECT_EQ(NameIn(noted, kX), "x");
}

TEST(ObjectName, AnotherObjectsNameIsALie) {
  const std::string noted = WithName("y", "users");
  EXPECT_EQ(NameIn(noted, kX), "");
  EXPECT_EQ(ToldName(noted), "y");
}

TEST(ObjectName, AnyBytesUpToTheirLimitAreAName) {
  for (const std::string& name : {std::string("\0\n\xff", 3), std::string(255, 'n')}) {
    EXPECT_EQ(NameIn(WithName(name, "m"), ObjectId::FromName(name)), name);
  }
}

TEST(ObjectName, ANoteThatIsCutIsMetadata) {
  const std::string noted = WithName("long name", "");
  for (std::size_t bytes = 0; bytes < noted.size(); ++bytes) {
    EXPECT_EQ(UsersPart(noted.substr(0, bytes)), noted.substr(0, bytes));
  }
}

}  // namespace
}  // namespace hoplite::protocol
