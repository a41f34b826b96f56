// View: how somebody looks at a picture: sorted by what, from which row on, which object is followed.
// And what keys change of that. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "cli/top/model.h"

namespace hoplite::cli::top {

enum class Column : std::uint8_t { kName, kIn, kOut, kMemory, kFetches, kWaits };
// "in"; the words of --sort.
std::string_view Name(Column column);
Result<Column> ParseColumn(const std::string& word);

enum class Key : std::uint8_t {
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kEnter,
  kEscape,
  kSortName,
  kSortIn,
  kSortOut,
  kSortMemory,
  kSortFetches,
  kSortWaits,
  kReverse,
  kQuit,
};

struct View {
  Column sort = Column::kName;
  bool reverse = false;    // names go up, numbers go down, unless this is set
  std::size_t scroll = 0;  // rows of nodes, or lines of what is followed, that are above the screen
  std::size_t chosen = 0;  // of the objects
  std::optional<ObjectId> followed;
};

// What names are sorted by: "n2" before "n10".
inline std::pair<std::size_t, std::string> InNumberOrder(const std::string& name) {
  return {name.size(), name};
}
// Nodes in the order of the view; those in trouble come first in each.
std::vector<NodeRow> Sorted(std::vector<NodeRow> nodes, const View& view);
// The view after that key. kQuit changes nothing.
View Press(View view, Key key, const Picture& picture);

// Keys from what a terminal sends, cut anywhere. Unknown bytes and sequences are none.
class KeyReader {
 public:
  std::vector<Key> Take(std::string_view bytes);
  // Nothing came for a while: an escape that stands alone was that key.
  std::vector<Key> Rest();
  bool waits() const { return !begun_.empty(); }

 private:
  std::string begun_;  // of a sequence
};

}  // namespace hoplite::cli::top
