#include <gtest/gtest.h>

#include "base/units.h"
#include "cli/top/chains.h"
#include "cli/top/paint.h"
#include "cli/top/width.h"

namespace hoplite::cli::top {
namespace {

const ObjectId kShown = *ObjectId::Parse("00112233445566778899aabbccddeeff00112233");

Picture ThreeNodes() {
  Picture picture;
  picture.nodes = {{.name = "n1",
                    .used_bytes = 512_MiB,
                    .memory_bytes = 1_GiB,
                    .in_rate = 0,
                    .out_rate = 105_MiB,
                    .processors = 1.5},
                   {.name = "n2",
                    .used_bytes = 256_MiB,
                    .memory_bytes = 1_GiB,
                    .in_rate = 105_MiB,
                    .out_rate = 0,
                    .fetches = 1,
                    .waits = 2},
                   {.name = "n3", .trouble = "lost 4 s ago"}};
  const ObjectInfo object{.id = kShown,
                          .size_bytes = 1_GiB,
                          .version = "1.1",
                          .holders = {{"n1", true, 1_GiB}, {"n2", false, 256_MiB}},
                          .transfers = {{kShown, "n1", "n2", 256_MiB}},
                          .waiters = {{"n4", "every holder is busy"}}};
  picture.objects = {{object, {105_MiB}}};
  picture.object_count = 12;
  return picture;
}

std::string Text(const std::vector<Line>& lines) {
  std::string text = "\n";
  for (const Line& line : lines) text += line.text + "|\n";
  return text;
}

TEST(TopPaint, OnceEverythingIsShown) {
  EXPECT_EQ(Text(Paint(ThreeNodes(), {}, {})), R"(
3 nodes, 1 in trouble | in 105.0 MiB/s, out 105.0 MiB/s | 1 of 12 objects under way|
node       in/s      out/s        used   memory           fetches waits    cpu|
n3   lost 4 s ago|
n1          0 B  105.0 MiB   512.0 MiB / 1.0 GiB     50 %       0     0  150 %|
n2    105.0 MiB        0 B   256.0 MiB / 1.0 GiB     25 %       1     2      ?|
objects under way|
  00112233445566778899aabbccddeeff00112233     1.0 GiB  1 complete, 1 on the way: 25 %, 1 waiting, 105.0 MiB/s|
      n1 ─▶ n2 25 %|
)");
}

TEST(TopPaint, AnObjectWithANameIsShownByIt) {
  Picture picture = ThreeNodes();
  picture.objects[0].object.name = "layers/0 weights\x1b[2J";
  const std::string all = Text(Paint(picture, {}, {}));
  EXPECT_NE(all.find("  \"name:layers/0 weights\\u{1b}[2J\"     1.0 GiB  1 complete"),
            std::string::npos)
      << all;
  const std::string screen = Text(Paint(picture, {}, {100, 12}));
  EXPECT_NE(screen.find("> \"name:layers/0 weights\\u     1.0 GiB"), std::string::npos) << screen;
  picture.followed = picture.objects[0];
  const std::string one = Text(Paint(picture, {.followed = kShown}, {}));
  EXPECT_NE(one.find(kShown.ToHex()), std::string::npos) << one;
  EXPECT_NE(one.find("object \"name:layers/0 weights"), std::string::npos) << one;
}

TEST(TopPaint, WhatNobodySendsSaysWhatItWaitsFor) {
  Picture picture = ThreeNodes();
  picture.objects = {
      {{.id = kShown, .waiters = {{"n1", "a put of it waits, since no memory"}}}, {}}};
  const std::string all = Text(Paint(picture, {}, {}));
  EXPECT_NE(all.find("0 complete, 1 waiting|\n      n1: a put of it waits, since no memory|\n"),
            std::string::npos)
      << all;
}

TEST(TopPaint, AScreenIsFilledExactly) {
  const View view{.sort = Column::kIn};
  EXPECT_EQ(Text(Paint(ThreeNodes(), view, {60, 10})), R"(
3 nodes, 1 in trouble | in 105.0 MiB/s, out 105.0 MiB/s | 1|
node       in/s      out/s        used   memory           fe|
n3   lost 4 s ago|
n2    105.0 MiB        0 B   256.0 MiB / 1.0 GiB     25 %|
n1          0 B  105.0 MiB   512.0 MiB / 1.0 GiB     50 %|
objects under way|
> 001122334455     1.0 GiB  1 complete, 1 on the way: 25 %,|
      n1 ─▶ n2 25 %|
|
sorted by in | n i o m f w sort, r turn | up/down, Enter fol|
)");
}

TEST(TopPaint, OneObjectIsFollowed) {
  Picture picture = ThreeNodes();
  picture.followed = picture.objects[0];
  const View view{.followed = kShown};
  EXPECT_EQ(Text(Paint(picture, view, {})), R"(
3 nodes, 1 in trouble | in 105.0 MiB/s, out 105.0 MiB/s | 1 of 12 objects under way|
object 00112233445566778899aabbccddeeff00112233     1.0 GiB  1 complete, 1 on the way: 25 %, 1 waiting, 105.0 MiB/s|
  complete at n1|
  n1 ─▶ n2 25 %|
waiting|
  n4: every holder is busy|
)");
  picture.followed = std::unexpected(Error(ErrorCode::kNotFound, "nobody knows it"));
  const auto lines = Paint(picture, view, {12, 10});
  EXPECT_EQ(lines[2].text, "  nobody kno");
  EXPECT_EQ(lines[3].text, "  ws it");
}

TEST(TopPaint, AHundredNodesAreReadable) {
  Picture picture;
  for (int i = 1; i <= 100; ++i) {
    picture.nodes.push_back({.name = "node" + std::to_string(i), .memory_bytes = 1_GiB});
  }
  picture.nodes[56].trouble = "silent for 5 s";
  // Beside each other where there is room: all of them on one screen.
  const auto wide = Paint(picture, {}, {170, 60});
  EXPECT_EQ(wide.size(), 60u);
  std::string all;
  for (const Line& line : wide) all += line.text + '\n';
  for (const NodeRow& row : picture.nodes) {
    EXPECT_NE(all.find(row.name + " "), std::string::npos) << row.name;
  }
  // Else from the top on, trouble first, and it says what is not shown.
  const auto narrow = Paint(picture, {}, {80, 24});
  ASSERT_EQ(narrow.size(), 24u);
  EXPECT_TRUE(narrow[2].text.starts_with("node57  silent for 5 s"));
  EXPECT_EQ(narrow[2].style, Style::kTrouble);
  EXPECT_EQ(narrow[22].text, "  nodes 1 to 20 of 100; space and b show others");
  const auto end = Paint(picture, {.scroll = 1000}, {80, 24});
  EXPECT_EQ(end[22].text, "  nodes 81 to 100 of 100; space and b show others");
}

TEST(TopPaint, NoSizeIsTooSmall) {
  Picture picture = ThreeNodes();
  picture.followed = picture.objects[0];
  picture.remarks = {"directory shard h:1 is away"};
  for (std::size_t width = 1; width < 30; ++width) {
    for (std::size_t height = 1; height < 15; ++height) {
      for (const View& view : {View{}, View{.scroll = 5, .chosen = 3, .followed = kShown}}) {
        const auto lines = Paint(picture, view, {width, height});
        EXPECT_EQ(lines.size(), height);
        for (const Line& line : lines) EXPECT_LE(Width(line.text), width);
      }
    }
  }
}

TEST(TopPaint, NoNameSteersTheTerminal) {
  Picture picture = ThreeNodes();
  picture.nodes[0].name = "\x1b[2Jn\n";
  picture.nodes[1].name = "\xc2\x9b";  // another way to begin a sequence
  for (const Line& line : Paint(picture, {}, {})) {
    EXPECT_EQ(line.text.find('\x1b'), std::string::npos);
    EXPECT_EQ(line.text.find('\n'), std::string::npos);
    EXPECT_EQ(line.text.find("\xc2\x9b"), std::string::npos);
  }
}

TEST(TopPaint, ManyObjectsLeaveRoomForNodes) {
  Picture picture = ThreeNodes();
  for (int i = 0; i < 50; ++i) picture.objects.push_back(picture.objects[0]);
  const auto lines = Paint(picture, {.chosen = 50}, {80, 20});
  EXPECT_EQ(lines.size(), 20u);
  EXPECT_TRUE(lines[4].text.starts_with("n2"));
  EXPECT_EQ(lines[5].text, "objects under way");
  EXPECT_EQ(lines[6].style, Style::kChosen) << "the chosen one is on the screen";
}

TEST(TopChains, ALineIsOneChainAndOthersBranchOff) {
  const std::map<std::string, std::string> fed_by{
      {"n2", "n1"}, {"n3", "n2"}, {"n4", "n3"}, {"n5", "n2"}, {"n6", "n1"}};
  const std::vector<std::string> lines = DrawChains(fed_by, {}, {{"n4", "7 %"}}, 0);
  EXPECT_EQ(lines,
            (std::vector<std::string>{"n1 ─▶ n2 ─▶ n3 ─▶ n4 7 %", "  n1 ─▶ n6", "  n2 ─▶ n5"}));
}

TEST(TopChains, ALongChainIsBroken) {
  std::map<std::string, std::string> fed_by;
  for (int i = 1; i < 100; ++i) fed_by["n" + std::to_string(i + 1)] = "n" + std::to_string(i);
  const auto lines = DrawChains(fed_by, {}, {}, 60);
  EXPECT_EQ(lines.size(), 13u);
  for (const std::string& line : lines) EXPECT_LE(Width(line), 60u);
  EXPECT_TRUE(lines[1].starts_with(" ─▶ "));
}

TEST(TopChains, ACircleIsShownAllTheSame) {
  const auto lines = DrawChains({{"a", "b"}, {"b", "a"}}, {}, {}, 0);
  EXPECT_EQ(lines, std::vector<std::string>{"a ─▶ b"});
}

TEST(TopChains, ManyBranchesStayNarrow) {
  std::map<std::string, std::string> fed_by;
  for (int i = 1; i < 200; ++i) {
    fed_by["n" + std::to_string(i + 1)] = "n" + std::to_string(i);
    fed_by["m" + std::to_string(i)] = "n" + std::to_string(i);
  }
  for (const std::string& line : DrawChains(fed_by, {}, {}, 60)) EXPECT_LE(Width(line), 60u);
}

}  // namespace
}  // namespace hoplite::cli::top
