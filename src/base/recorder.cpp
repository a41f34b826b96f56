#include "base/recorder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "base/text.h"

namespace hoplite {
namespace {

// The bytes of an entry.
struct Packed {
  std::int64_t when = 0;
  std::array<std::uint8_t, ObjectId::kBytes> object{};
  std::uint8_t what = 0;
  std::uint8_t text_bytes = 0;
  std::array<char, Recorder::kTextBytes> text{};
};
using Words = std::array<std::uint64_t, 15>;
static_assert(sizeof(Packed) == sizeof(Words));

}  // namespace

std::string_view Name(Decided what) {
  switch (what) {
    case Decided::kAsked:
      return "asked";
    case Decided::kGranted:
      return "granted";
    case Decided::kMoved:
      return "moved";
    case Decided::kResumed:
      return "resumed";
    case Decided::kFailed:
      return "failed";
    case Decided::kComplete:
      return "complete";
    case Decided::kRecalled:
      return "recalled";
    case Decided::kDeleted:
      return "deleted";
    case Decided::kReduces:
      return "reduces";
    case Decided::kReduced:
      return "reduced";
    case Decided::kReset:
      return "reset";
    case Decided::kSession:
      return "session";
    case Decided::kSlot:
      return "slot";
    case Decided::kNamed:
      return "named";
    case Decided::kGrants:
      return "grants";
    case Decided::kMoves:
      return "moves";
    case Decided::kRecalls:
      return "recalls";
    case Decided::kSlotLost:
      return "slot lost";
    case Decided::kJoined:
      return "joined";
    case Decided::kSessionEnded:
      return "session ended";
    case Decided::kNodeLost:
      return "node lost";
    case Decided::kRefused:
      return "refused";
  }
  return "";
}

void Recorder::Note(Decided what, const ObjectId& object, std::string_view text, Time now) {
  Packed packed{.when = now.time_since_epoch().count(), .what = static_cast<std::uint8_t>(what)};
  std::memcpy(packed.object.data(), object.view().data(), packed.object.size());
  const std::string_view first = FirstBytes(text, kTextBytes);
  packed.text_bytes = static_cast<std::uint8_t>(first.size());
  std::ranges::copy(first, packed.text.begin());
  const auto words = std::bit_cast<Words>(packed);
  Entry& entry = (*entries_)[noted_ % kEntries];
  entry.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < words.size(); ++i) {
    entry.words[i].store(words[i], std::memory_order_relaxed);
  }
  entry.number.store(++noted_, std::memory_order_release);
}

std::vector<Recorded> Recorder::Read() const {
  std::vector<std::pair<std::uint64_t, Recorded>> read;
  for (const Entry& entry : *entries_) {
    const std::uint64_t number = entry.number.load(std::memory_order_acquire);
    Words words;
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = entry.words[i].load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (number == 0 || entry.number.load(std::memory_order_relaxed) != number) continue;
    const auto packed = std::bit_cast<Packed>(words);
    read.emplace_back(number, Recorded{Time(Duration(packed.when)),
                                       static_cast<Decided>(packed.what), ObjectId(packed.object),
                                       std::string(packed.text.data(), packed.text_bytes)});
  }
  std::ranges::sort(read, {}, &std::pair<std::uint64_t, Recorded>::first);
  std::vector<Recorded> oldest_first;
  for (auto& [number, recorded] : read) oldest_first.push_back(std::move(recorded));
  return oldest_first;
}

}  // namespace hoplite
