#include "wire/trace.h"

#include <gtest/gtest.h>

#include "wire/frame.h"

namespace hoplite::wire {
namespace {

using std::chrono::microseconds;

const ObjectId kObject = ObjectId::FromName("x");

TEST(Trace, ComesBackWithTheTimeOfDay) {
  const Time now(std::chrono::hours(5));
  const std::vector<Recorded> recorded{
      {now - microseconds(70), Decided::kAsked, kObject, ""},
      {now - microseconds(20), Decided::kNodeLost, ObjectId(), "n1"}};
  const auto back = DecodeTrace(EncodeTrace(recorded, now, 1000));
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ(*back, (std::vector<TraceEntry>{{930, Decided::kAsked, kObject, ""},
                                            {980, Decided::kNodeLost, ObjectId(), "n1"}}));
}

TEST(Trace, OfAFullRecorderFitsIntoItsFrame) {
  Recorder recorder;
  for (std::size_t i = 0; i < Recorder::kEntries; ++i) {
    recorder.Note(Decided::kFailed, kObject, std::string(200, 'x'), Time());
  }
  EXPECT_LE(EncodeTrace(recorder.Read()).size(), kMaxTraceBytes);
}

TEST(Trace, ThatIsCutOrUnknownIsAnError) {
  const auto bytes = EncodeTrace({{Time(), Decided::kMoves, kObject, "text"}});
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeTrace(std::span(bytes).first(size))) << size;
  }
  for (const int what : {0, 19, 200}) {
    auto unknown = bytes;
    unknown[8 + ObjectId::kBytes] = static_cast<std::byte>(what);
    EXPECT_FALSE(DecodeTrace(unknown)) << what;
  }
}

TEST(Trace, EachDecisionHasANameOfItsOwn) {
  std::vector<std::string_view> names;
  for (int i = 1; i <= static_cast<int>(kLastDecided); ++i) {
    const std::string_view name = Name(static_cast<Decided>(i));
    if (name.empty()) continue;
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 0) << name;
    names.push_back(name);
  }
  EXPECT_EQ(names.size(), 22u);
}

}  // namespace
}  // namespace hoplite::wire
