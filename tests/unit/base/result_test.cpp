// Result has the interface of std::expected; each test says what a user of it relies on.
#include <expected>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <hoplite/result.h>

namespace hoplite {
namespace {

const Error kLate(ErrorCode::kTimeout, "too late");

struct Base {
  virtual ~Base() = default;
};
struct Derived : Base {};

Result<int> Three() { return 3; }
Result<int> Late() { return Unexpected(kLate); }
Result<std::vector<int>> OneTwoThree() { return std::vector{1, 2, 3}; }

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(Three());
  EXPECT_EQ(*Three(), 3);
  EXPECT_EQ(Three().value(), 3);
  EXPECT_FALSE(Late().has_value());
  EXPECT_EQ(Late().error(), kLate);
  EXPECT_EQ(OneTwoThree()->size(), 3u);
  EXPECT_EQ(Result<int>(), 0);
  Result<int> result = Late();
  result = 4;
  EXPECT_EQ(result, 4);
  result = Unexpected(kLate);
  EXPECT_EQ(result, Late());
  EXPECT_EQ(result.emplace(5), 5);
}

TEST(Result, IsMadeOfWhatItsValueIsMadeOfAndOfStdUnexpected) {
  const Result<std::string> text = "text";
  EXPECT_EQ(text, "text");
  const Result<std::unique_ptr<Base>> base = std::make_unique<Derived>();
  EXPECT_TRUE(base.value());
  const Result<long> wider = Three();
  EXPECT_EQ(wider, 3);
  const Result<long> late = Late();
  EXPECT_EQ(late.error(), kLate);
  const Result<int> unexpected = std::unexpected(kLate);
  EXPECT_EQ(unexpected, std::unexpected(kLate));
  static_assert(!std::is_convertible_v<Error, Result<int>>, "an error is no value");
  static_assert(!std::is_convertible_v<std::string, Result<int>>);
}

TEST(Result, ValueThrowsTheError) {
  try {
    static_cast<void>(Late().value());
    FAIL();
  } catch (const BadResultAccess& thrown) {
    EXPECT_STREQ(thrown.what(), "timeout: too late");
    EXPECT_EQ(thrown.error(), kLate);
  }
  EXPECT_THROW(Result<void>(Unexpected(kLate)).value(), BadResultAccess);
}

// The range of such a loop would die before the first round if * gave a reference.
TEST(Result, AValueTakenFromATemporaryLives) {
  int sum = 0;
  for (const int number : *OneTwoThree()) sum += number;
  for (const int number : OneTwoThree().value()) sum += number;
  EXPECT_EQ(sum, 12);
}

TEST(Result, GoesOnWithItsValueOrItsError) {
  const auto half = [](int number) { return number / 2.0; };
  const auto text = [](int number) -> Result<std::string> { return std::to_string(number); };
  const auto four = [](const Error&) -> Result<int> { return 4; };
  EXPECT_EQ(Three().transform(half), 1.5);
  EXPECT_EQ(Late().transform(half).error(), kLate);
  EXPECT_EQ(Three().and_then(text), "3");
  EXPECT_EQ(Late().and_then(text).error(), kLate);
  EXPECT_EQ(Three().or_else(four), 3);
  EXPECT_EQ(Late().or_else(four), 4);
  EXPECT_EQ(Three().value_or(4), 3);
  EXPECT_EQ(Late().value_or(4), 4);
  const auto pointer = Result<std::unique_ptr<int>>(std::make_unique<int>(7))
                           .transform([](std::unique_ptr<int> moved) { return *moved; });
  EXPECT_EQ(pointer, 7);
}

TEST(Result, OfNothingIsDoneOrAnError) {
  EXPECT_TRUE(Result<void>());
  EXPECT_EQ(Result<void>().transform([] { return 2; }), 2);
  int calls = 0;
  const Result<void> done = Three().transform([&](int) { ++calls; });
  EXPECT_TRUE(done);
  const Result<void> late = Late().transform([&](int) { ++calls; });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(late, Unexpected(kLate));
  EXPECT_EQ(late.and_then(Three).error(), kLate);
  EXPECT_TRUE(late.or_else([](const Error&) { return Result<void>(); }));
}

}  // namespace
}  // namespace hoplite
