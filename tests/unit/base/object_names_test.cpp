#include "base/object_names.h"

#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hoplite {
namespace {

TEST(ObjectNames, WhatAnIdWasMadeOfIsRemembered) {
  const ObjectId id = ObjectId::FromName("weights");
  EXPECT_EQ(RememberedName(id), "weights");
  EXPECT_EQ(RememberedName(*ObjectId::Parse("name:bias")), "bias");
  EXPECT_EQ(RememberedName(ObjectId::Random()), "");
}

TEST(ObjectNames, AnIdThatIsOnlyComputedIsNot) {
  const ObjectId id = IdOfName("only computed");
  EXPECT_EQ(RememberedName(id), "");
  EXPECT_EQ(id, ObjectId::FromName("only computed"));
}

TEST(ObjectNames, LongAndEmptyNamesAreNot) {
  const std::string longest(kMaxObjectNameBytes, 'x');
  EXPECT_EQ(RememberedName(ObjectId::FromName(longest)), longest);
  EXPECT_EQ(RememberedName(ObjectId::FromName(longest + "x")), "");
  EXPECT_EQ(RememberedName(ObjectId::FromName("")), "");
}

TEST(ObjectNames, TheOldestOfManyGoes) {
  const ObjectId first = ObjectId::FromName("first of many");
  for (std::size_t i = 0; i < kMostNames; ++i) ObjectId::FromName("later " + std::to_string(i));
  EXPECT_EQ(RememberedName(first), "");
  EXPECT_EQ(RememberedName(IdOfName("later 0")), "later 0");
}

TEST(ObjectNames, AForkedChildRemembersThemToo) {
  const ObjectId before = ObjectId::FromName("before the fork");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool knows = RememberedName(before) == "before the fork";
    const bool learns = RememberedName(ObjectId::FromName("in the child")) == "in the child";
    ::_exit(knows && learns ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(RememberedName(IdOfName("in the child")), "");
}

}  // namespace
}  // namespace hoplite
