#include "base/text.h"

#include <gtest/gtest.h>

namespace hoplite {
namespace {

TEST(Text, Sizes) {
  EXPECT_EQ(*ParseSize("64KiB"), 65536u);
  EXPECT_EQ(*ParseSize("1GiB"), 1u << 30);
  EXPECT_EQ(*ParseSize("1000"), 1000u);
  for (const char* bad : {"", "KiB", "-1", "12XB", "1e300", "nan", "inf"})
    EXPECT_FALSE(ParseSize(bad)) << bad;
}

TEST(Text, Rates) {
  EXPECT_EQ(*ParseRate("100mbit"), 12'500'000u);
  EXPECT_EQ(*ParseRate("10gbit"), 1'250'000'000u);
  for (const char* bad : {"", "100", "0mbit", "fast"}) EXPECT_FALSE(ParseRate(bad)) << bad;
}

TEST(Text, Durations) {
  EXPECT_EQ(*ParseDuration("200ms"), std::chrono::milliseconds(200));
  EXPECT_EQ(*ParseDuration("1.5s"), std::chrono::milliseconds(1500));
  EXPECT_FALSE(ParseDuration("5"));
}

TEST(Text, Addresses) {
  EXPECT_EQ(ParseHostPort("10.0.0.1:7000")->port, 7000);
  EXPECT_EQ(ParseHostPort("[::1]:0")->host, "::1");
  EXPECT_EQ(ParseHostPort("[::1]:80")->ToString(), "[::1]:80");
  for (const char* bad : {"", ":1", "host", "host:", "host:99999", "::1:80", "[]:1", "h:-1",
                          "[[::1]:1", "[h:1", "[::1]]:1"}) {
    EXPECT_FALSE(ParseHostPort(bad)) << bad;
  }
}

}  // namespace
}  // namespace hoplite
