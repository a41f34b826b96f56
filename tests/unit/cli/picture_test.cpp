#include "cli/demo/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::cli::demo {
namespace {

using testing::ElementsAre;

const ObjectId kObject = ObjectId::FromName("x");

Picture Edges(const std::map<std::string, std::string>& fed_by, std::uint64_t bytes = 0) {
  Picture picture{.fed_by = fed_by};
  for (const auto& [node, source] : fed_by) picture.valid_bytes[node] = bytes;
  return picture;
}

TEST(Picture, TakesTheEdgesAndBytesOfOneObject) {
  const ClusterStatus status{
      .objects = {{.id = ObjectId::FromName("other"), .transfers = {{{}, "n9", "n8", 1}}},
                  {.id = kObject,
                   .size_bytes = 100,
                   .holders = {{"n1", true, 100}, {"n2", false, 40}},
                   .transfers = {{kObject, "n1", "n2", 41}}}}};
  const Picture picture = Picture::Of(status, kObject);
  EXPECT_EQ(picture.fed_by, (std::map<std::string, std::string>{{"n2", "n1"}}));
  EXPECT_EQ(picture.bytes_of("n1"), 100u);
  EXPECT_EQ(picture.bytes_of("n2"), 41u);
  EXPECT_EQ(picture.bytes_of("n8"), 0u);
  EXPECT_TRUE(picture.relays("n1"));
  EXPECT_FALSE(picture.relays("n2"));
}

TEST(History, TellsOfANewSourceOnceAndNotOfTheFirst) {
  History history;
  EXPECT_TRUE(history.Add(Edges({{"n2", "n1"}, {"n3", "n2"}})).empty());
  EXPECT_TRUE(history.Add(Edges({{"n2", "n1"}})).empty()) << "a lost source is no new source";
  const auto changes = history.Add(Edges({{"n2", "n1"}, {"n3", "n1"}}, 77));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].node, "n3");
  EXPECT_EQ(changes[0].before, "n2");
  EXPECT_EQ(changes[0].now, "n1");
  EXPECT_EQ(changes[0].at_bytes, 77u);
  EXPECT_TRUE(history.Add(Edges({{"n3", "n1"}})).empty());
  EXPECT_THAT(history.sources().at("n3"), ElementsAre("n2", "n1"));
}

}  // namespace
}  // namespace hoplite::cli::demo
