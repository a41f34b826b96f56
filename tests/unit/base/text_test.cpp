#include "base/text.h"

#include <gtest/gtest.h>

#include "base/shown_text.h"

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

TEST(Text, ForATerminalNothingSteersIt) {
  EXPECT_EQ(PrintableText("two\n\tlines, \u00e4\u6f22"), "two\n\tlines, \u00e4\u6f22");
  EXPECT_EQ(PrintableText("\x1b[2Jgpj.\u202eexe"), "\\u{1b}[2Jgpj.\\u{202e}exe");
  EXPECT_EQ(PrintableText("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(PrintableText("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
}

TEST(Text, ALineStaysOne) {
  EXPECT_EQ(OneLine("two\n\tlines\x1b[2J"), "two\\n\\tlines\\u{1b}[2J");
  EXPECT_EQ(OneLine("\u00e4"), "\u00e4");
}

// Whoever puts an object chooses its name, and an operator's terminal shows it.
TEST(Text, ANameSteersNoTerminalAndForgesNoLine) {
  EXPECT_EQ(ShownName("a/b-c_1.2"), "name:a/b-c_1.2");
  EXPECT_EQ(ShownName("x\n  y\x1b[2J"), "\"name:x\\n  y\\u{1b}[2J\"");
  EXPECT_EQ(ShownName("a\u202eb\tc"), "name:a\\u{202e}b\\tc");
  EXPECT_EQ(ShownName("x, held by n9"), "\"name:x, held by n9\"");
  EXPECT_EQ(ShownName("say \"x\""), "\"name:say \\\"x\\\"\"");
  const std::string digits(40, 'a');
  EXPECT_EQ(ShownName(digits), "name:" + digits) << "not another object's id";
}

TEST(Text, BytesThatAreNoCharactersAreShownAsNumbers) {
  for (const char* text : {"", "n1", "\xc3\xa4\n"}) EXPECT_EQ(ShownText(text), text);
  EXPECT_EQ(ShownText("\xff"), "\\xff");
  EXPECT_EQ(ShownText("a\xc3"), "a\\xc3");
  EXPECT_EQ(ShownText("\xed\xa0\x80 \xe2\x82\xac"), "\\xed\\xa0\\x80 \xe2\x82\xac");
}

TEST(Text, PlainIsUtf8WithoutControlCharacters) {
  for (const char* good :
       {"", "n1", "Knoten \xc3\xa4", "\xf0\x9f\x98\x80", "\xe2\x82\xac", "a b"}) {
    EXPECT_TRUE(IsPlainText(good)) << good;
  }
  for (const char* bad :
       {"a\n", "\t", "\x7f", "\x1b[2J", "\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\x80",
        "\xf4\x90\x80\x80", "\xc2\x85", "\xe2\x80\xa8", "\xe0\x80\x80", "\xf8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(IsPlainText(bad)) << bad;
  }
  for (const char* hidden : {"a\u202eb", "a\u200db", "\ufeffa", "a\u2066b", "a\U000e0041"}) {
    EXPECT_FALSE(IsPlainText(hidden)) << "reorders or hides";
  }
  EXPECT_FALSE(IsPlainText(std::string_view("a\0b", 3)));
}

TEST(Text, AnAgeIsSaidOfWhatIsOld) {
  EXPECT_EQ(FormatAge(std::chrono::milliseconds(4999)), "");
  EXPECT_EQ(FormatAge(std::chrono::seconds(90)), ", 90 s ago");
}

TEST(Text, Hosts) {
  for (const char* good : {"10.0.0.1", "::1", "fe80::1%eth0", "node7.example", "a_b-c"}) {
    EXPECT_TRUE(IsHost(good)) << good;
  }
  for (const char* bad : {"", "h:1", "[::1]", "[::1]:1", "a b", "h\n", "\xff", "http://h", "a,b"}) {
    EXPECT_FALSE(IsHost(bad)) << bad;
  }
}

}  // namespace
}  // namespace hoplite
