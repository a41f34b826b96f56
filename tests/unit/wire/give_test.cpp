#include "wire/give.h"

#include <memory>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_checks.h"

namespace hoplite::wire {
namespace {

using namespace protocol;  // NOLINT(google-build-using-namespace): the events and actions converted

const ObjectId kGiven = ObjectId::FromName("an object");
const Version kGivenVersion{{.incarnation = 7, .sequence = 9}};

TEST(Give, ComesBackAsItWas) {
  const InlineObject given{
      kGiven, kGivenVersion, "f4", std::make_shared<const std::string>("bytes"), {}, 9};
  const std::string message = EncodeGive(given);
  const auto back = DecodeGive(std::as_bytes(std::span(message)));
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ(EncodeGive(*back), message);
  EXPECT_EQ(back->number, 9U);
}

TEST(Give, IsNothingElse) {
  const auto why = [](const std::string& bytes) {
    return DecodeGive(std::as_bytes(std::span(bytes))).error().message;
  };
  EXPECT_THAT(why("junk"), ::testing::HasSubstr("no message"));
  EXPECT_THAT(why(ToProto(NodeAction{Recall{kGiven, kGivenVersion}}).SerializeAsString()),
              ::testing::HasSubstr("without bytes"));
}

}  // namespace
}  // namespace hoplite::wire
