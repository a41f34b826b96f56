#include <gtest/gtest.h>

#include "cli/top/view.h"

namespace hoplite::cli::top {
namespace {

std::vector<std::string> Names(const std::vector<NodeRow>& rows) {
  std::vector<std::string> names;
  for (const NodeRow& row : rows) names.push_back(row.name);
  return names;
}

using Order = std::vector<std::string>;

TEST(TopView, NodesAreSortedByEachColumn) {
  const std::vector<NodeRow> rows{
      {.name = "n10", .used_bytes = 3, .in_rate = 1, .out_rate = 9, .fetches = 0, .waits = 5},
      {.name = "n2", .used_bytes = 2, .in_rate = 7, .out_rate = 0, .fetches = 4, .waits = 0},
      {.name = "n3", .trouble = "lost 1 s ago"}};
  const auto sorted = [&](Column column, bool reverse = false) {
    return Names(Sorted(rows, {.sort = column, .reverse = reverse}));
  };
  EXPECT_EQ(sorted(Column::kName), (Order{"n3", "n2", "n10"})) << "trouble first, 2 before 10";
  EXPECT_EQ(sorted(Column::kName, true), (Order{"n3", "n10", "n2"}));
  EXPECT_EQ(sorted(Column::kIn), (Order{"n3", "n2", "n10"}));
  EXPECT_EQ(sorted(Column::kIn, true), (Order{"n3", "n10", "n2"}));
  EXPECT_EQ(sorted(Column::kOut), (Order{"n3", "n10", "n2"}));
  EXPECT_EQ(sorted(Column::kMemory), (Order{"n3", "n10", "n2"}));
  EXPECT_EQ(sorted(Column::kFetches), (Order{"n3", "n2", "n10"}));
  EXPECT_EQ(sorted(Column::kWaits), (Order{"n3", "n10", "n2"}));
}

TEST(TopView, ColumnsHaveWords) {
  EXPECT_EQ(*ParseColumn("memory"), Column::kMemory);
  EXPECT_EQ(Name(Column::kWaits), "waits");
  EXPECT_NE(ParseColumn("size").error().message.find("'size'"), std::string::npos);
}

TEST(TopView, KeysSortChooseAndFollow) {
  Picture picture;
  picture.objects = {{{.id = ObjectId::FromName("a")}, {}}, {{.id = ObjectId::FromName("b")}, {}}};
  View view;
  const auto press = [&](Key key) { view = Press(view, key, picture); };
  press(Key::kSortMemory);
  press(Key::kReverse);
  EXPECT_EQ(view.sort, Column::kMemory);
  EXPECT_TRUE(view.reverse);
  press(Key::kPageDown);
  EXPECT_GT(view.scroll, 0u);
  press(Key::kSortIn);
  EXPECT_FALSE(view.reverse);
  EXPECT_EQ(view.scroll, 0u);
  for (int i = 0; i < 5; ++i) press(Key::kDown);
  EXPECT_EQ(view.chosen, 1u);
  press(Key::kEnter);
  EXPECT_EQ(view.followed, ObjectId::FromName("b"));
  press(Key::kDown);
  EXPECT_EQ(view.scroll, 1u);
  press(Key::kEscape);
  EXPECT_EQ(view.followed, std::nullopt);
  EXPECT_EQ(view.scroll, 0u);
  for (int i = 0; i < 5; ++i) press(Key::kUp);
  EXPECT_EQ(view.chosen, 0u);
  picture.objects.clear();
  press(Key::kEnter);
  EXPECT_EQ(view.followed, std::nullopt);
}

TEST(TopKeys, SequencesMayBeCutAnywhere) {
  KeyReader reader;
  using Keys = std::vector<Key>;
  EXPECT_EQ(reader.Take("iq"), (Keys{Key::kSortIn, Key::kQuit}));
  EXPECT_EQ(reader.Take("\x1b"), Keys{});
  EXPECT_TRUE(reader.waits());
  EXPECT_EQ(reader.Take("["), Keys{});
  EXPECT_EQ(reader.Take("A\x1b[6~"), (Keys{Key::kUp, Key::kPageDown}));
  EXPECT_FALSE(reader.waits());
  EXPECT_EQ(reader.Take("\x1bOB\x1b[1;5Cx"), Keys{Key::kDown}) << "what is unknown is none";
  EXPECT_EQ(reader.Take("\x1b"), Keys{});
  EXPECT_EQ(reader.Rest(), Keys{Key::kEscape});
  EXPECT_EQ(reader.Take("\x1b\x1b[A"), (Keys{Key::kEscape, Key::kUp}));
  EXPECT_EQ(reader.Take("\x1b[" + std::string(100, '1') + "q").back(), Key::kQuit)
      << "no sequence is endless";
  EXPECT_EQ(reader.Rest(), Keys{});
}

}  // namespace
}  // namespace hoplite::cli::top
