#include "cli/top/view.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace hoplite::cli::top {
namespace {

constexpr std::array<std::string_view, 6> kColumns{"name",   "in",      "out",
                                                   "memory", "fetches", "waits"};
constexpr std::size_t kPage = 10;
// A terminal's sequences have fewer.
constexpr std::size_t kLongestSequence = 16;

// What columns of numbers are sorted by.
double NumberOf(const NodeRow& row, Column column) {
  switch (column) {
    case Column::kIn:
      return static_cast<double>(row.in_rate.value_or(0));
    case Column::kOut:
      return static_cast<double>(row.out_rate.value_or(0));
    case Column::kMemory:
      return static_cast<double>(row.used_bytes);
    case Column::kFetches:
      return static_cast<double>(row.fetches);
    case Column::kWaits:
      return static_cast<double>(row.waits);
    case Column::kName:
      break;
  }
  return 0;
}

std::optional<Column> ColumnOf(Key key) {
  switch (key) {
    case Key::kSortName:
      return Column::kName;
    case Key::kSortIn:
      return Column::kIn;
    case Key::kSortOut:
      return Column::kOut;
    case Key::kSortMemory:
      return Column::kMemory;
    case Key::kSortFetches:
      return Column::kFetches;
    case Key::kSortWaits:
      return Column::kWaits;
    default:
      return std::nullopt;
  }
}

std::optional<Key> KeyOf(char letter) {
  switch (letter) {
    case 'n':
      return Key::kSortName;
    case 'i':
      return Key::kSortIn;
    case 'o':
      return Key::kSortOut;
    case 'm':
      return Key::kSortMemory;
    case 'f':
      return Key::kSortFetches;
    case 'w':
      return Key::kSortWaits;
    case 'r':
      return Key::kReverse;
    case 'k':
      return Key::kUp;
    case 'j':
      return Key::kDown;
    case 'b':
      return Key::kPageUp;
    case ' ':
      return Key::kPageDown;
    case '\r':
    case '\n':
      return Key::kEnter;
    case '\x7f':
      return Key::kEscape;
    case 'q':
    case '\x03':
      return Key::kQuit;
    default:
      return std::nullopt;
  }
}

// Behind the escape.
std::optional<Key> KeyOfSequence(std::string_view sequence) {
  if (sequence == "[A" || sequence == "OA") return Key::kUp;
  if (sequence == "[B" || sequence == "OB") return Key::kDown;
  if (sequence == "[5~") return Key::kPageUp;
  if (sequence == "[6~") return Key::kPageDown;
  return std::nullopt;
}

// Whether a sequence, behind its escape, has come to its end.
bool Ended(std::string_view sequence) {
  if (sequence.empty()) return false;
  if (sequence[0] == 'O') return sequence.size() == 2;
  if (sequence[0] != '[') return true;
  return sequence.size() > 1 && sequence.back() >= '@' && sequence.back() <= '~';
}

}  // namespace

std::string_view Name(Column column) { return kColumns.at(static_cast<std::size_t>(column)); }

Result<Column> ParseColumn(const std::string& word) {
  const auto* const found = std::ranges::find(kColumns, word);
  if (found != kColumns.end()) return static_cast<Column>(found - kColumns.begin());
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument,
            fmt::format("there is no column '{}': name, in, out, memory, fetches or waits", word)));
}

std::vector<NodeRow> Sorted(std::vector<NodeRow> nodes, const View& view) {
  std::ranges::sort(nodes, [&](const NodeRow& a, const NodeRow& b) {
    if (a.trouble.empty() != b.trouble.empty()) return b.trouble.empty();
    const double by_number = NumberOf(b, view.sort) - NumberOf(a, view.sort);
    if (by_number != 0) return (by_number < 0) != view.reverse;
    const bool turned = view.reverse && view.sort == Column::kName;
    return turned ? InNumberOrder(b.name) < InNumberOrder(a.name)
                  : InNumberOrder(a.name) < InNumberOrder(b.name);
  });
  return nodes;
}

View Press(View view, Key key, const Picture& picture) {
  if (const auto column = ColumnOf(key)) {
    view.reverse = false;
    view.sort = *column;
    view.scroll = 0;
    return view;
  }
  const std::size_t objects = picture.objects.size();
  switch (key) {
    case Key::kReverse:
      view.reverse = !view.reverse;
      break;
    case Key::kUp:
      if (view.followed) {
        view.scroll -= std::min<std::size_t>(view.scroll, 1);
      } else if (view.chosen > 0) {
        --view.chosen;
      }
      break;
    case Key::kDown:
      if (view.followed) {
        ++view.scroll;
      } else if (view.chosen + 1 < objects) {
        ++view.chosen;
      }
      break;
    case Key::kPageUp:
      view.scroll -= std::min(view.scroll, kPage);
      break;
    case Key::kPageDown:
      view.scroll += kPage;
      break;
    case Key::kEnter:
      if (!view.followed && view.chosen < objects) {
        view.followed = picture.objects[view.chosen].object.id;
        view.scroll = 0;
      }
      break;
    case Key::kEscape:
      if (view.followed) view.scroll = 0;
      view.followed.reset();
      break;
    default:
      break;
  }
  return view;
}

std::vector<Key> KeyReader::Take(std::string_view bytes) {
  std::vector<Key> keys;
  for (const char byte : bytes) {
    if (begun_.empty() && byte != '\x1b') {
      if (const auto key = KeyOf(byte)) keys.push_back(*key);
      continue;
    }
    if (byte == '\x1b') {
      for (const Key key : Rest()) keys.push_back(key);
    }
    begun_ += byte;
    const std::string_view sequence = std::string_view(begun_).substr(1);
    if (!Ended(sequence) && begun_.size() < kLongestSequence) continue;
    if (const auto key = KeyOfSequence(sequence)) keys.push_back(*key);
    begun_.clear();
  }
  return keys;
}

std::vector<Key> KeyReader::Rest() {
  const std::string left = std::exchange(begun_, {});
  return left == "\x1b" ? std::vector{Key::kEscape} : std::vector<Key>{};
}

}  // namespace hoplite::cli::top
