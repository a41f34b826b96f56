// What the programs of the comparison share: a line protocol with whoever started them, and a
// clock.
//
// One command a line on standard input, answered by one JSON object a line on standard output, in
// order; the end of standard input ends the program. So process start is never part of a figure.
// Moments are nanoseconds of CLOCK_MONOTONIC, which all hosts of the testbed share: they are
// namespaces of one machine. Single-threaded; standard library only, so that bare programs stay
// bare.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <time.h>

namespace hoplite::bench {

using Nanoseconds = std::int64_t;

inline Nanoseconds Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Returns at once if the moment has passed.
inline void SleepUntil(Nanoseconds moment) {
  const timespec at{.tv_sec = moment / 1'000'000'000, .tv_nsec = moment % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

// The next word of a command; a missing or malformed one is the caller's error.
template <typename T>
T Word(std::istream& words) {
  T value;
  if (!(words >> value)) throw std::runtime_error("a word of the command is missing or malformed");
  return value;
}

inline std::string JsonArray(const std::vector<Nanoseconds>& values) {
  std::string text = "[";
  for (const Nanoseconds value : values) {
    if (text.size() > 1) text += ',';
    text += std::to_string(value);
  }
  return text + "]";
}

// What a host contributes to a sum, by place, and the sum of `count` hosts: whole numbers, so small
// that a float32 is exact in whatever order they are added.
inline float Element(std::size_t rank, std::size_t place) {
  return static_cast<float>(place % 1021 + rank);
}
inline float Total(std::size_t count, std::size_t place) {
  return static_cast<float>(count * (place % 1021) + count * (count - 1) / 2);
}

// A handler reads the rest of its command and returns the members of the answer: "\"end\":12".
using Handler = std::function<std::string(std::istream& words)>;

inline int RunAgent(const std::map<std::string, Handler>& handlers) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    try {
      const auto handler = handlers.find(Word<std::string>(words));
      if (handler == handlers.end()) throw std::runtime_error("unknown command");
      std::printf("{%s}\n", handler->second(words).c_str());
    } catch (const std::exception& error) {
      std::printf("{\"error\":\"%s: %s\"}\n", line.c_str(), error.what());
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace hoplite::bench
