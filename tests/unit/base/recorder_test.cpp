#include "base/recorder.h"

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace hoplite {
namespace {

Time At(int seconds) { return Time(std::chrono::seconds(seconds)); }

TEST(Recorder, GivesWhatItWasToldTheOldestFirst) {
  Recorder recorder;
  EXPECT_TRUE(recorder.Read().empty());
  const ObjectId object = ObjectId::FromName("x");
  recorder.Note(Decided::kAsked, object, "", At(1));
  recorder.Note(Decided::kSession, ObjectId(), "shard 0 away", At(2));
  EXPECT_EQ(recorder.Read(),
            (std::vector<Recorded>{{At(1), Decided::kAsked, object, ""},
                                   {At(2), Decided::kSession, ObjectId(), "shard 0 away"}}));
}

TEST(Recorder, KeepsTheNewest) {
  Recorder recorder;
  const int all = 3 * static_cast<int>(Recorder::kEntries) + 7;
  for (int i = 0; i < all; ++i) recorder.Note(Decided::kAsked, ObjectId(), "", At(i));
  const auto read = recorder.Read();
  ASSERT_EQ(read.size(), Recorder::kEntries);
  EXPECT_EQ(read.front().when, At(all - static_cast<int>(Recorder::kEntries)));
  EXPECT_EQ(read.back().when, At(all - 1));
}

TEST(Recorder, CutsALongTextAtACharacter) {
  Recorder recorder;
  const std::string text = std::string(Recorder::kTextBytes - 1, 'x') + "ü";
  recorder.Note(Decided::kFailed, ObjectId(), text, At(1));
  EXPECT_EQ(recorder.Read().front().text, std::string(Recorder::kTextBytes - 1, 'x'));
}

// What is read is whole, although the writer goes on: time, object and text belong together.
TEST(Recorder, MayBeReadWhileItIsTold) {
  Recorder recorder;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 1; !stop; ++i) {
      const std::string name = std::to_string(i);
      recorder.Note(Decided::kAsked, ObjectId::FromName(name), name, At(i));
    }
  });
  std::size_t seen = 0;
  while (seen < 20 * Recorder::kEntries) {
    for (const Recorded& one : recorder.Read()) {
      ASSERT_EQ(one.object, ObjectId::FromName(one.text));
      ASSERT_EQ(one.when, At(std::stoi(one.text)));
      ++seen;
    }
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace hoplite
