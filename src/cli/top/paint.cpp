#include "cli/top/paint.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shown_text.h"
#include "base/text.h"
#include "cli/top/chains.h"
#include "cli/top/width.h"
#include "cli/tree.h"

namespace hoplite::cli::top {
namespace {

using Lines = std::vector<Line>;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kLongestName = 24;
constexpr std::size_t kShortId = 12;  // hexadecimal digits of an id
// Lines of one object's tree where several objects share the screen.
constexpr std::size_t kTreeLines = 4;
constexpr std::string_view kBetweenColumns = "   ";

// Text of other machines must not steer this terminal, nor begin a line.
std::string Printable(std::string text) {
  std::ranges::replace_if(text, [](char byte) { return byte == '\n' || byte == '\t'; }, ' ');
  return PrintableText(text);
}

std::string Count(std::size_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

std::string RateText(const std::optional<std::uint64_t>& rate) {
  return rate ? FormatSize(*rate) : "?";
}

// 150 %: one processor, and another half of the time.
std::string ProcessorText(const std::optional<double>& processors) {
  return processors ? fmt::format("{:.0f} %", 100 * *processors) : "?";
}

std::string Totals(const Picture& picture) {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::size_t troubled = 0;
  for (const NodeRow& row : picture.nodes) {
    in += row.in_rate.value_or(0);
    out += row.out_rate.value_or(0);
    troubled += row.trouble.empty() ? 0 : 1;
  }
  std::string text = Count(picture.nodes.size(), "node");
  if (troubled > 0) text += fmt::format(", {} in trouble", troubled);
  return fmt::format("{} | in {}/s, out {}/s | {} of {} under way", text, FormatSize(in),
                     FormatSize(out), picture.objects.size(),
                     Count(picture.object_count, "object"));
}

// --- nodes

std::string NodeHead(std::size_t names) {
  return fmt::format("{} {:>10} {:>10}  {:>10}   {:<10} {:>5} {:>7} {:>5} {:>6}",
                     Fit("node", names), "in/s", "out/s", "used", "memory", "", "fetches", "waits",
                     "cpu");
}

std::string NodeText(const NodeRow& row, std::size_t names) {
  // Who is in trouble has no rates: the trouble stands in their place.
  const std::string rates =
      row.trouble.empty()
          ? fmt::format("{:>10} {:>10}", RateText(row.in_rate), RateText(row.out_rate))
          : Fit(row.trouble, 21);
  const std::string name = Fit(row.name, names);
  if (row.memory_bytes == 0) return fmt::format("{} {}", name, rates);
  return fmt::format("{} {}  {:>10} / {:<10} {:>5} {:>7} {:>5} {:>6}", name, rates,
                     FormatSize(row.used_bytes), FormatSize(row.memory_bytes),
                     Share(row.used_bytes, row.memory_bytes), row.fetches, row.waits,
                     ProcessorText(row.processors));
}

// As many columns as fit beside each other, filled one after the other.
class NodeTable {
 public:
  NodeTable(std::vector<NodeRow> rows, std::size_t width) : rows_(std::move(rows)) {
    std::size_t names = 4;
    for (const NodeRow& row : rows_) names = std::max(names, Width(row.name));
    names_ = std::min(names, kLongestName);
    column_ = Width(NodeHead(names_));
    if (width > 0) columns_ = std::max<std::size_t>((width + 3) / (column_ + 3), 1);
    // More columns than the rows fill only make it harder to read.
    columns_ = std::min(columns_, std::max<std::size_t>((rows_.size() + 9) / 10, 1));
  }

  // Lines that all rows take, with the heading.
  std::size_t height() const { return 1 + (rows_.size() + columns_ - 1) / columns_; }

  // At most so many lines, from that row on; the last line says how many rows are not shown.
  Lines Draw(std::size_t lines, std::size_t scroll) const {
    if (lines < 2) return {};
    const bool all = height() <= lines;
    const std::size_t deep = (all ? height() : lines - 1) - 1;
    const std::size_t most = deep * columns_;
    const std::size_t first =
        all ? 0 : std::min(scroll, rows_.size() - std::min(most, rows_.size()));
    Lines drawn{{Beside(std::vector(columns_, NodeHead(names_))), Style::kHeading}};
    for (std::size_t line = 0; line < deep; ++line) {
      std::vector<std::string> texts;
      bool trouble = false;
      for (std::size_t column = 0; column < columns_; ++column) {
        const std::size_t row = first + column * deep + line;
        if (row >= rows_.size()) break;
        texts.push_back(NodeText(rows_[row], names_));
        trouble = trouble || !rows_[row].trouble.empty();
      }
      drawn.push_back({Beside(texts), trouble ? Style::kTrouble : Style::kPlain});
    }
    if (!all) {
      const std::size_t last = std::min(first + most, rows_.size());
      drawn.push_back({fmt::format("  nodes {} to {} of {}; space and b show others", first + 1,
                                   last, rows_.size())});
    }
    return drawn;
  }

 private:
  std::string Beside(const std::vector<std::string>& texts) const {
    std::string line;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i > 0) line += kBetweenColumns;
      line += i + 1 < texts.size() ? Fit(texts[i], column_) : texts[i];
    }
    return line;
  }

  const std::vector<NodeRow> rows_;
  std::size_t names_ = 0;
  std::size_t column_ = 0;  // its width
  std::size_t columns_ = 1;
};

// --- objects

std::string CopiesText(const ObjectInfo& object) {
  std::size_t complete = object.in_directory ? 1 : 0;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  std::size_t growing = 0;
  for (const HolderInfo& holder : object.holders) {
    if (holder.complete) {
      ++complete;
      continue;
    }
    ++growing;
    least = std::min(least, holder.valid_bytes);
    most = std::max(most, holder.valid_bytes);
  }
  std::string text = fmt::format("{} complete", complete);
  if (growing == 0) return text;
  const std::string from = ProgressText(least, object.size_bytes);
  const std::string to = ProgressText(most, object.size_bytes);
  text += fmt::format(", {} on the way: {}", growing, from);
  return from == to ? text : text + " to " + to;
}

std::string ObjectText(const ObjectRow& row, std::string_view id) {
  const ObjectInfo& object = row.object;
  std::uint64_t rate = 0;
  for (const auto& one : row.rates) rate += one.value_or(0);
  std::string text =
      fmt::format("{}  {:>10}  {}", id,
                  object.version.empty() ? "?" : FormatSize(object.size_bytes), CopiesText(object));
  if (!object.slots.empty())
    text += fmt::format(", reduced in {}", Count(object.slots.size(), "slot"));
  if (!object.waiters.empty()) text += fmt::format(", {} waiting", object.waiters.size());
  if (rate > 0) text += fmt::format(", {}/s", FormatSize(rate));
  return text;
}

// Its name, if it is known; digits are cut where there is little room.
std::string IdText(const ObjectInfo& object, bool wide) {
  if (object.name.empty()) return object.id.ToHex().substr(0, wide ? 40 : kShortId);
  const std::string name = ShownName(object.name);
  return wide ? name : std::string(Clip(name, kLongestName));
}

std::vector<std::string> TreeOf(const ObjectRow& row, std::size_t width) {
  const ObjectInfo& object = row.object;
  std::map<std::string, std::string> fed_by;
  std::map<std::string, std::string> notes;
  std::map<std::string, std::size_t> more;  // sources of one receiver
  for (const TransferInfo& transfer : object.transfers) {
    if (!fed_by.emplace(transfer.to, transfer.from).second) ++more[transfer.to];
    notes[transfer.to] = ProgressText(transfer.valid_bytes, object.size_bytes);
  }
  for (const auto& [node, sources] : more)
    notes[node] += fmt::format(" +{}", Count(sources, "source"));
  std::vector<std::string> roots;
  for (const HolderInfo& holder : object.holders) {
    if (holder.complete || fed_by.contains(holder.node)) continue;
    notes[holder.node] = ProgressText(holder.valid_bytes, object.size_bytes);
    roots.push_back(holder.node);
  }
  std::vector<std::string> lines = DrawChains(fed_by, roots, notes, width);
  if (object.slots.empty()) return lines;
  for (std::string& line : DrawReduction(object.slots, object.size_bytes)) {
    lines.push_back(std::move(line));
  }
  return lines;
}

// Of an object that nobody sends: what the first of those who wait for it wait for.
void AppendWait(const ObjectInfo& object, std::vector<std::string>& lines) {
  if (!object.transfers.empty() || object.waiters.empty()) return;
  const WaiterInfo& waiter = object.waiters.front();
  lines.push_back(fmt::format("{}: {}", waiter.node, waiter.why));
}

// At most so many lines for all objects.
Lines DrawObjects(const Picture& picture, const View& view, Size size, std::size_t lines) {
  Lines drawn;
  if (picture.objects.empty() || lines < 2) return drawn;
  drawn.push_back({"objects under way", Style::kHeading});
  const std::size_t chosen = std::min(view.chosen, picture.objects.size() - 1);
  std::size_t names = 0;
  for (const ObjectRow& row : picture.objects) {
    names = std::max(names, Width(IdText(row.object, lines == kNoLimit)));
  }
  // The chosen one is among those shown.
  const std::size_t first = lines == kNoLimit || chosen < lines / 3 ? 0 : chosen;
  for (std::size_t i = first; i < picture.objects.size(); ++i) {
    if (drawn.size() + 1 >= lines) {
      drawn.push_back({fmt::format("  and {} more", picture.objects.size() - i)});
      break;
    }
    const ObjectRow& row = picture.objects[i];
    const bool here = lines != kNoLimit && i == chosen;
    drawn.push_back(
        {(here ? "> " : "  ") + ObjectText(row, Fit(IdText(row.object, lines == kNoLimit), names)),
         here ? Style::kChosen : Style::kPlain});
    auto tree = TreeOf(row, size.width > 6 ? size.width - 6 : size.width);
    AppendWait(row.object, tree);
    const std::size_t left = lines - drawn.size() - 1;
    const std::size_t most = lines == kNoLimit ? tree.size() : std::min(left, kTreeLines);
    for (std::size_t line = 0; line < std::min(most, tree.size()); ++line) {
      const bool cut = line + 1 == most && tree.size() > most;
      drawn.push_back(
          {cut ? fmt::format("      and {} more of its tree", Count(tree.size() - line, "line"))
               : "      " + tree[line]});
    }
  }
  return drawn;
}

// --- one object

// Sentences are broken where the screen ends.
void AppendSentence(Lines& lines, std::string_view sentence, std::size_t width) {
  constexpr std::string_view kIndent = "  ";
  const std::size_t most = width > kIndent.size() ? width - kIndent.size() : kNoLimit;
  while (!sentence.empty()) {
    const std::string_view part = Clip(sentence, most);
    lines.push_back({std::string(kIndent) + std::string(part)});
    sentence.remove_prefix(part.size());
  }
}

Lines DrawFollowed(const Picture& picture, const View& view, Size size) {
  const std::string id = view.followed->ToHex();
  Lines lines;
  if (!picture.followed || !*picture.followed) {
    lines.push_back({"object " + id, Style::kHeading});
    AppendSentence(lines,
                   picture.followed ? picture.followed->error().message
                                    : "the object's shard has not answered",
                   size.width);
    return lines;
  }
  const ObjectRow& row = **picture.followed;
  const std::string name = row.object.name.empty() ? "" : ShownName(row.object.name) + "  ";
  lines.push_back({"object " + name + ObjectText(row, id), Style::kHeading});
  std::vector<std::string> complete;
  for (const HolderInfo& holder : row.object.holders) {
    if (holder.complete) complete.push_back(holder.node);
  }
  std::ranges::sort(complete, {}, InNumberOrder);
  if (row.object.in_directory) complete.push_back("the directory");
  if (complete.empty()) complete.push_back("nobody");
  AppendSentence(lines, fmt::format("complete at {}", fmt::join(complete, ", ")), size.width);
  for (const std::string& line : TreeOf(row, size.width > 2 ? size.width - 2 : size.width)) {
    lines.push_back({"  " + line});
  }
  if (!row.object.waiters.empty()) lines.push_back({"waiting", Style::kHeading});
  for (const WaiterInfo& waiter : row.object.waiters) {
    AppendSentence(lines, waiter.node + ": " + waiter.why, size.width);
  }
  return lines;
}

// --- all of it

Lines Head(const Picture& picture) {
  Lines lines{{Totals(picture), Style::kHeading}};
  for (const std::string& remark : picture.remarks) lines.push_back({remark, Style::kTrouble});
  return lines;
}

Line Foot(const View& view) {
  if (view.followed) return {"Esc all objects | up/down scroll | q quit", Style::kHeading};
  return {fmt::format("sorted by {} | n i o m f w sort, r turn | up/down, Enter follow | q quit",
                      Name(view.sort)),
          Style::kHeading};
}

void Append(Lines& lines, Lines more) {
  lines.insert(lines.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

// Nodes get what objects leave, and half of it in any case.
void AppendAll(Lines& lines, const Picture& picture, const View& view, Size size,
               std::size_t room) {
  const NodeTable table(Sorted(picture.nodes, view), size.width);
  if (room == kNoLimit) {
    Append(lines, table.Draw(kNoLimit, 0));
    return Append(lines, DrawObjects(picture, view, size, kNoLimit));
  }
  const std::size_t wanted = DrawObjects(picture, view, size, room).size();
  const std::size_t half = room / 2;
  const std::size_t nodes = std::min(table.height(), std::max(half, room - std::min(wanted, room)));
  Append(lines, table.Draw(nodes, view.scroll));
  Append(lines, DrawObjects(picture, view, size, room - nodes));
}

void AppendFollowed(Lines& lines, const Picture& picture, const View& view, Size size,
                    std::size_t room) {
  Lines followed = DrawFollowed(picture, view, size);
  const std::size_t first =
      std::min(view.scroll, followed.size() - std::min(followed.size(), room));
  followed.erase(followed.begin(), followed.begin() + static_cast<std::ptrdiff_t>(first));
  followed.resize(std::min(followed.size(), room));
  Append(lines, std::move(followed));
}

}  // namespace

std::vector<Line> Paint(const Picture& picture, const View& view, Size size) {
  Lines lines = Head(picture);
  const bool live = size.height > 0;
  const std::size_t taken = lines.size() + 1;  // and the foot
  const std::size_t room = !live ? kNoLimit : size.height - std::min(size.height, taken);
  if (view.followed) {
    AppendFollowed(lines, picture, view, size, room);
  } else {
    AppendAll(lines, picture, view, size, room);
  }
  if (live) {
    lines.resize(std::min(lines.size(), size.height - 1));
    lines.resize(size.height - 1);
    lines.push_back(Foot(view));
  }
  for (Line& line : lines) {
    line.text = Printable(std::move(line.text));
    if (size.width > 0) line.text = std::string(Clip(line.text, size.width));
    line.text.erase(line.text.find_last_not_of(' ') + 1);
  }
  return lines;
}

}  // namespace hoplite::cli::top
