// No view of a temporary compiles: its bytes, or what they are described by, would end with it.
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <hoplite/buffer.h>
#include <hoplite/channel.h>
#include <hoplite/draft.h>
#include <hoplite/error.h>
#include <hoplite/reader.h>
#include <hoplite/result.h>

namespace hoplite {
namespace {

template <typename T>
concept GivesBytes = requires(T&& t) { std::forward<T>(t).bytes(); };
template <typename T>
concept GivesData = requires(T&& t) { std::forward<T>(t).data(); };
template <typename T>
concept GivesText = requires(T&& t) { std::forward<T>(t).view(); };
template <typename T>
concept GivesNumbers = requires(T&& t) { std::forward<T>(t).template as<float>(); };
template <typename T>
concept GivesArrived = requires(T&& t) { std::forward<T>(t).WaitFor(1); };
template <typename T>
concept GivesParts = requires(T&& t) { std::forward<T>(t).parts(); };
template <typename T>
concept FindsPart = requires(T&& t) { std::forward<T>(t).Find("name"); };
template <typename T>
concept GivesObjects = requires(T&& t) { std::forward<T>(t).objects(); };
template <typename T>
concept GivesNext = requires(T&& t) { std::forward<T>(t).Next(); };
template <typename T>
concept HasArrow = requires(T&& t) { std::forward<T>(t).operator->(); };

// A variable gives it; a temporary, and what was moved, doesn't.
#define OF_VARIABLES_ONLY(gives, type) \
  static_assert(gives<type&> && !gives<type> && !gives<const type>)

OF_VARIABLES_ONLY(GivesBytes, Buffer);
OF_VARIABLES_ONLY(GivesText, Buffer);
OF_VARIABLES_ONLY(GivesText, ObjectId);
OF_VARIABLES_ONLY(GivesNumbers, Buffer);
OF_VARIABLES_ONLY(GivesBytes, PrivateBuffer);
OF_VARIABLES_ONLY(GivesNumbers, PrivateBuffer);
OF_VARIABLES_ONLY(GivesData, Draft);
OF_VARIABLES_ONLY(GivesNumbers, Draft);
OF_VARIABLES_ONLY(GivesArrived, Reader);
OF_VARIABLES_ONLY(GivesParts, Snapshot);
OF_VARIABLES_ONLY(FindsPart, Snapshot);
OF_VARIABLES_ONLY(GivesObjects, Snapshot);
OF_VARIABLES_ONLY(GivesNext, SnapshotStream);

OF_VARIABLES_ONLY(HasArrow, Result<Buffer>);
OF_VARIABLES_ONLY(HasArrow, Result<PrivateBuffer>);
OF_VARIABLES_ONLY(HasArrow, Result<Draft>);
OF_VARIABLES_ONLY(HasArrow, Result<Reader>);
OF_VARIABLES_ONLY(HasArrow, Result<Snapshot>);
OF_VARIABLES_ONLY(HasArrow, Result<SnapshotStream>);
static_assert(HasArrow<Result<std::string>> && HasArrow<Result<ObjectId>>, "->ToHex() is its own");

// What is small is a temporary's own, too.
template <typename T>
concept GivesItsOwnId = std::same_as<decltype(std::declval<T>().id()), ObjectId>;
template <typename T>
concept GivesItsOwnMetadata = std::same_as<decltype(std::declval<T>().metadata()), std::string>;
static_assert(!std::is_reference_v<decltype(std::declval<ObjectId>().bytes())>);
static_assert(GivesItsOwnId<Buffer> && GivesItsOwnId<Draft> && GivesItsOwnId<Reader>);
static_assert(GivesItsOwnId<Snapshot> && GivesItsOwnMetadata<Snapshot>);
static_assert(GivesItsOwnMetadata<Buffer> && GivesItsOwnMetadata<Reader>);
static_assert(GivesItsOwnMetadata<SnapshotStream>);
static_assert(std::same_as<decltype(std::declval<PrivateBuffer>().object()), Buffer>);

TEST(Temporaries, NumbersOfAVariableAreSafeInALoop) {
  const Buffer buffer;
  float sum = 0;
  for (const float x : *buffer.as<float>()) sum += x;
  EXPECT_EQ(sum, 0);
}

}  // namespace
}  // namespace hoplite
