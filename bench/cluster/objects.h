// What the commands of hoplite_driver.cpp do with objects: their names, when each is used, how one
// comes, and whether it holds what it should.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hoplite/hoplite.h>

#include "agent.h"

namespace hoplite::bench {

inline constexpr std::chrono::seconds kTimeout{100};
inline constexpr Nanoseconds kLook = 10'000'000;  // from one look at what has come to the next

template <typename T>
T Value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().ToString());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline ObjectId Numbered(const std::string& name, std::size_t index) {
  return ObjectId::FromName(name + "-" + std::to_string(index));
}

// The answer about an operation that began and ended once.
inline std::string Moments(Nanoseconds begin, Nanoseconds end) {
  return "\"begins\":" + JsonArray({begin}) + ",\"ends\":" + JsonArray({end});
}

// Whether the bytes are the float32 that `expected` gives for every place, and no more.
template <typename Expected>
void Compare(const Buffer& view, std::size_t bytes, Expected expected) {
  if (view.size() != bytes) throw std::runtime_error("wrong size");
  for (std::size_t i = 0; i < bytes / sizeof(float); ++i) {
    float value = 0;
    std::memcpy(&value, &view.bytes()[i * sizeof value], sizeof value);
    if (value != expected(i)) throw std::runtime_error("wrong number at " + std::to_string(i));
  }
}

// Follows how an object comes, until all of it can be read.
class Arrival {
 public:
  Arrival(Client& client, const ObjectId& id) : client_(client), id_(id) {}

  // Returns when the object is final. After a recall it reads the next version.
  void Follow() {
    const Nanoseconds begin = Now();
    Note(begin, 0);
    while (!ReadOneVersion()) {
    }
    moments_ = Moments(begin, times_.back());
  }

  // The object as it was read at last, pinned.
  Buffer Bytes() const { return Value(client_.Get(id_, {.timeout = kTimeout})); }
  std::string Answer() const {
    return moments_ + ",\"times\":" + JsonArray(times_) + ",\"bytes\":" + JsonArray(bytes_);
  }

 private:
  bool ReadOneVersion() {
    auto reader = Value(client_.Open(id_, {.timeout = kTimeout}));
    for (std::uint64_t have = 0;;) {
      const std::uint64_t wanted = std::min(have + 1, reader.size());
      const auto prefix = reader.WaitFor(wanted, kTimeout);
      if (!prefix && prefix.error().code == ErrorCode::kRecalled) {
        Note(Now(), 0);
        return false;
      }
      have = Value(prefix).size();
      Note(Now(), have);
      if (wanted == reader.size()) return true;  // the end was waited for, so it is final
      if (have < reader.size()) SleepUntil(Now() + kLook);
    }
  }

  void Note(Nanoseconds time, std::uint64_t bytes) {
    times_.push_back(time);
    bytes_.push_back(static_cast<Nanoseconds>(bytes));
  }

  Client& client_;
  const ObjectId id_;
  std::string moments_;
  std::vector<Nanoseconds> times_;
  std::vector<std::int64_t> bytes_;
};

// The objects NAME-0, NAME-1, … and when each is used.
struct Series {
  explicit Series(std::istream& words) : name(Word<std::string>(words)) {
    count = Word<std::size_t>(words);
    bytes = Word<std::size_t>(words);
    moment = Word<Nanoseconds>(words);
    step = Word<Nanoseconds>(words);
  }

  ObjectId Id(std::size_t index) const { return Numbered(name, index); }

  // Calls use(id) for each at its moment; use() gives the moment at which it was done.
  template <typename Use>
  std::string Run(Use use) const {
    std::vector<Nanoseconds> begins;
    std::vector<Nanoseconds> ends;
    for (std::size_t i = 0; i < count; ++i) {
      SleepUntil(moment + static_cast<Nanoseconds>(i) * step);
      begins.push_back(Now());
      ends.push_back(use(Id(i)));
    }
    return "\"begins\":" + JsonArray(begins) + ",\"ends\":" + JsonArray(ends);
  }

  std::string name;
  std::size_t count;
  std::size_t bytes;
  Nanoseconds moment;
  Nanoseconds step;
};

}  // namespace hoplite::bench
