#include "node/own_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::node {
namespace {

using ::testing::HasSubstr;

TEST(OwnAddress, IsTheAdvertisedHostWithThePortThatWasBound) {
  NodeConfig config;
  EXPECT_EQ(*AdvertisedAddress(config, "10.0.0.7:7001"), "10.0.0.7:7001");
  config.advertise = "10.0.0.8";
  EXPECT_EQ(*AdvertisedAddress(config, "0.0.0.0:7001"), "10.0.0.8:7001");
  config.advertise = "localhost";
  EXPECT_EQ(*AdvertisedAddress(config, "0.0.0.0:7001"), "localhost:7001");
}

TEST(OwnAddress, ANameThatThisHostCannotResolveIsRefusedByName) {
  NodeConfig config;
  config.advertise = "no-such-host.invalid";
  const auto address = AdvertisedAddress(config, "0.0.0.0:7001");
  ASSERT_FALSE(address);
  EXPECT_THAT(address.error().message,
              HasSubstr("advertise: cannot resolve no-such-host.invalid:7001: "));
}

TEST(OwnAddress, ALoopbackAddressIsWrongOnlyBesideADirectoryElsewhere) {
  for (const char* own : {"127.0.0.1:7001", "127.3.2.1:7001", "[::1]:7001", "localhost:7001"}) {
    EXPECT_THAT(WrongBesideDirectory(own, {"127.0.0.1:7000", "10.0.0.1:7000"}),
                HasSubstr("the directory is at 10.0.0.1:7000"))
        << own;
    EXPECT_EQ(WrongBesideDirectory(own, {"localhost:7000", "[::1]:7000"}), "") << own;
    EXPECT_EQ(WrongBesideDirectory(own, {"127.0.0.1:1/127.0.0.1:2/127.0.0.1:3"}), "") << own;
    EXPECT_THAT(WrongBesideDirectory(own, {"127.0.0.1:1/10.0.0.1:2/127.0.0.1:3"}),
                HasSubstr("10.0.0.1:2"));
  }
  EXPECT_EQ(WrongBesideDirectory("10.0.0.7:7001", {"10.0.0.1:7000"}), "");
  EXPECT_EQ(WrongBesideDirectory("node7.example:7001", {"10.0.0.1:7000"}), "");
}

}  // namespace
}  // namespace hoplite::node
