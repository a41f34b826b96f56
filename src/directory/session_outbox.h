// SessionOutbox: what one side of a session has to say to the other, and when it may leave (R43).
//
// Decides: what leaves next. Words wait in two lanes. Small words go first. Bulk (large words and
// parts of an inventory) follows in order, and a small word waits there, too, if something about
// its object does. What leaves is cut into messages of about 64 KiB. Every 32 KiB the receiver is
// asked to say when it took that in, and at most a window of 256 KiB is under way that it did not
// take in; less where answers take long. So heartbeats and their like, which are sent beside, stand
// behind a window at most, however much waits here; and a receiver that takes nothing can be told
// from one that was sent too much. While more than a window waits, a notice about a copy takes the
// place of the last one about that copy. So what waits for a slow subscriber does not grow with the
// number of changes, and it hears of some however fast they follow each other; a subscriber that
// keeps up hears of each.
//
// Is told: words, and what the receiver acknowledges. Must never reorder what is said of one
// object, but for notices among themselves. The same class at both ends. Pure, not thread-safe; one
// per session.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "directory/word_bytes.h"

namespace hoplite::directory {

// With smaller sizes a simulation of little data shows what much data does.
struct Pace {
  std::size_t window = 256 * 1024;  // at most so many bytes are under way, and one message more
  std::size_t least_window = 16 * 1024;
  std::size_t first_window = 32 * 1024;
  std::size_t part = 64 * 1024;       // about so many bytes make a message
  std::size_t ask_every = 32 * 1024;  // bytes between two questions
  // The window grows while answers come within `soon`, and shrinks when they take longer than
  // `late`. So they come well within a lease, also where very many nodes share the link of a shard.
  Duration soon = std::chrono::milliseconds(50);
  Duration late = std::chrono::milliseconds(200);
};
// A larger word is bulk.
inline constexpr std::size_t kHurryBytes = 1024;

template <typename Word>
class SessionOutbox {
 public:
  explicit SessionOutbox(const Pace& pace = {})
      : pace_(pace), window_(std::min(pace.first_window, pace.window)) {}

  struct Departure {
    std::vector<Word> words;
    std::optional<std::uint64_t> number;  // to be acknowledged
  };

  void Push(Word word) {
    const std::size_t bytes = WordBytes(word);
    if (Waiting* notice = WaitingNotice(word, bytes)) {
      waiting_bytes_ += bytes - notice->bytes;
      *notice = {std::move(word), bytes};
      return;
    }
    const ObjectId* object = SubjectOf(word);
    const bool follows = object != nullptr && among_bulk_.contains(*object);
    Put(bytes > kHurryBytes || follows ? bulk_ : hurried_, std::move(word), bytes);
  }
  void PushBulk(Word word) {
    const std::size_t bytes = WordBytes(word);
    Put(bulk_, std::move(word), bytes);
  }

  // Null: nothing waits, or the window is used up.
  std::optional<Departure> Next(Time now) {
    if (empty() || !room()) return std::nullopt;
    Departure departure;
    std::size_t bytes = 0;
    while (!empty() && bytes < part()) bytes += TakeOne(departure.words);
    waiting_bytes_ -= bytes;
    sent_ += bytes;
    if (sent_ - asked_ < std::min(pace_.ask_every, window_ / 2)) return departure;
    asked_ = sent_;
    if (questions_.empty()) progress_ = now;
    departure.number = ++last_number_;
    questions_.push_back({last_number_, sent_, now});
    return departure;
  }
  // The receiver took in the message of this number, and all before it.
  void Taken(std::uint64_t number, Time now) {
    std::optional<Duration> took;  // the longest
    while (!questions_.empty() && questions_.front().number <= number) {
      taken_ = questions_.front().sent;
      if (!took) took = now - questions_.front().asked;
      questions_.pop_front();
      progress_ = now;
    }
    if (took) Adapt(*took);
  }

  bool empty() const { return hurried_.empty() && bulk_.empty(); }
  bool room() const { return questions_.empty() || sent_ - taken_ < window_; }
  std::size_t part() const { return std::min(pace_.part, std::max<std::size_t>(window_ / 4, 1)); }
  std::size_t waiting_bytes() const { return waiting_bytes_; }
  // In bytes since the session began; how much the receiver took is learned in steps.
  std::uint64_t sent() const { return sent_; }
  std::uint64_t taken() const { return taken_; }
  // When the receiver will have taken nothing for so long; kNever if it was not asked to.
  Time StalledAt(Duration patience) const {
    return questions_.empty() ? kNever : progress_ + patience;
  }

 private:
  struct Waiting {
    Word word;
    std::size_t bytes;
  };
  struct Notice {
    Waiting* waiting = nullptr;
    bool bulk = false;  // it waits among the bulk
  };
  struct Question {
    std::uint64_t number;
    std::uint64_t sent;
    Time asked;
  };
  using Lane = std::deque<Waiting>;

  void Adapt(Duration took) {
    if (took <= pace_.soon) window_ *= 2;
    if (took > pace_.late) window_ /= 2;
    window_ = std::clamp(window_, std::min(pace_.least_window, pace_.window), pace_.window);
  }
  // The waiting notice whose place the word takes, or null. No other word about the object may have
  // come since, and a large word takes only the place of one among the bulk.
  Waiting* WaitingNotice(const Word& word, std::size_t bytes) {
    const NodeId* holder = waiting_bytes_ > pace_.window ? HolderOf(word) : nullptr;
    const auto about = holder == nullptr ? notices_.end() : notices_.find(*SubjectOf(word));
    if (about == notices_.end()) return nullptr;
    const auto earlier = about->second.find(*holder);
    if (earlier == about->second.end()) return nullptr;
    const Notice& notice = earlier->second;
    return bytes > kHurryBytes && !notice.bulk ? nullptr : notice.waiting;
  }
  void Put(Lane& lane, Word word, std::size_t bytes) {
    const ObjectId* object = SubjectOf(word);
    if (&lane == &bulk_ && object != nullptr) ++among_bulk_[*object];
    waiting_bytes_ += bytes;
    lane.push_back({std::move(word), bytes});
    Waiting& last = lane.back();
    if (const NodeId* holder = HolderOf(last.word)) {
      notices_[*SubjectOf(last.word)][*holder] = {&last, &lane == &bulk_};
    } else if (object != nullptr && !notices_.empty()) {
      notices_.erase(*SubjectOf(last.word));
    }
  }
  void ForgetNotice(const Waiting& leaving) {
    const NodeId* holder = HolderOf(leaving.word);
    const auto about = holder == nullptr ? notices_.end() : notices_.find(*SubjectOf(leaving.word));
    if (about == notices_.end()) return;
    const auto notice = about->second.find(*holder);
    if (notice == about->second.end() || notice->second.waiting != &leaving) return;
    about->second.erase(notice);
    if (about->second.empty()) notices_.erase(about);
  }
  std::size_t TakeOne(std::vector<Word>& words) {
    Lane& lane = hurried_.empty() ? bulk_ : hurried_;
    const ObjectId* object = SubjectOf(lane.front().word);
    if (&lane == &bulk_ && object != nullptr) {
      const auto count = among_bulk_.find(*object);
      if (--count->second == 0) among_bulk_.erase(count);
    }
    ForgetNotice(lane.front());
    const std::size_t bytes = lane.front().bytes;
    words.push_back(std::move(lane.front().word));
    lane.pop_front();
    return bytes;
  }

  Pace pace_;
  std::size_t window_;
  Lane hurried_;
  Lane bulk_;
  std::map<ObjectId, std::size_t> among_bulk_;  // how many words of each object wait there
  // By object and holder: those that wait, with no other word about the object behind them.
  std::map<ObjectId, std::map<NodeId, Notice>> notices_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t asked_ = 0;  // how much was sent when the last question was asked
  std::uint64_t taken_ = 0;
  std::uint64_t last_number_ = 0;
  std::deque<Question> questions_;  // not answered yet
  Time progress_{};                 // when the last was answered, or the oldest asked
};

}  // namespace hoplite::directory
