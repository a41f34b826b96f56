// A fingerprint that misses a field makes an exhaustive search take two states for one. Each leaf
// (a field, or a field of a field) of every word is changed alone, and the fingerprint must change.
#include "sim/kit/message_digest.h"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "base/fields.h"
#include "base/stripe_marks.h"

namespace hoplite::sim {
namespace {

// Changes the leaf of this number, counted over all of the value; 0 afterwards if it was there.
class Changer {
 public:
  explicit Changer(std::size_t which) : left_(which + 1) {}
  bool changed() const { return left_ == 0; }

  template <typename T>
  void Visit(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      Leaf([&] { value = !value; });
    } else if constexpr (std::is_arithmetic_v<T>) {
      Leaf([&] { value += 1; });
    } else if constexpr (std::is_enum_v<T>) {
      Leaf([&] { value = static_cast<T>(std::to_underlying(value) + 1); });
    } else if constexpr (std::is_same_v<T, Duration>) {
      Leaf([&] { value += std::chrono::nanoseconds(1); });
    } else if constexpr (std::is_same_v<T, std::string>) {
      Leaf([&] { value += 'x'; });
    } else if constexpr (std::is_same_v<T, Time>) {
      Leaf([&] { value += Duration{1}; });
    } else if constexpr (std::is_same_v<T, ObjectId>) {
      Leaf([&] { value = ObjectId::FromName("another"); });
    } else if constexpr (std::is_same_v<T, StripeMarks>) {
      Leaf([&] { value = StripeMarks(value.size() + 1, 7); });
    } else if constexpr (std::is_same_v<T, protocol::InlineBytes>) {
      Leaf([&] { value = std::make_shared<const std::string>("bytes"); });
    } else if constexpr (std::derived_from<T, Stamp>) {
      Visit(value.incarnation);
      Visit(value.sequence);
    } else if constexpr (requires { value.has_value(); }) {
      Leaf([&] { value.emplace(); });
    } else if constexpr (requires { value.emplace_back(); }) {
      VisitVector(value);
    } else {
      ForEachField(value, [&](auto& field) { Visit(field); });
    }
  }

 private:
  template <typename Change>
  void Leaf(Change change) {
    if (left_ > 0 && --left_ == 0) change();
  }
  // One element more is a change; so is each leaf of an element.
  template <typename T>
  void VisitVector(T& elements) {
    Leaf([&] { elements.emplace_back(); });
    if (changed()) return;
    for (auto& element : elements) Visit(element);
  }

  std::size_t left_;
};

// With an element in each vector, so that the fields of elements are there.
struct Filler {
  template <typename T>
  void Visit(T& value) {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, ObjectId> ||
                  std::is_same_v<T, StripeMarks> || std::derived_from<T, Stamp>) {
    } else if constexpr (requires { value.emplace_back(); }) {
      value.emplace_back();
      Visit(value.front());
    } else if constexpr (std::is_aggregate_v<T>) {
      ForEachField(value, [&](auto& field) { Visit(field); });
    }
  }
};

template <typename Body>
std::uint64_t DigestOf(const Body& body) {
  Digest digest;
  AddTo(digest, body);
  return digest.value();
}

// How many leaves the word has, all of which the fingerprint sees.
template <typename Body, typename Word>
std::size_t LeavesSeen() {
  Word plain{};
  Filler().Visit(plain);
  const std::uint64_t before = DigestOf(Body(plain));
  for (std::size_t leaf = 0;; ++leaf) {
    Word other = plain;
    Changer changer(leaf);
    changer.Visit(other);
    if (!changer.changed()) return leaf;
    EXPECT_NE(DigestOf(Body(other)), before)
        << "leaf " << leaf << " of word " << Body(other).index() << " is not in the fingerprint";
  }
}

template <typename Body, std::size_t... I>
std::size_t AllLeavesSeen(std::index_sequence<I...>) {
  return (LeavesSeen<Body, std::variant_alternative_t<I, Body>>() + ...);
}

template <typename Body>
std::size_t AllLeavesSeen() {
  return AllLeavesSeen<Body>(std::make_index_sequence<std::variant_size_v<Body>>());
}

TEST(MessageDigest, SeesEveryFieldOfEveryWordOfANode) {
  EXPECT_GT(AllLeavesSeen<protocol::NodeEvent>(), 100u);
}

TEST(MessageDigest, SeesEveryFieldOfEveryWordOfAShard) {
  EXPECT_GT(AllLeavesSeen<protocol::NodeAction>(), 80u);
}

TEST(MessageDigest, SeesEveryFieldOfWhatTheSessionLayerSays) {
  EXPECT_GE((LeavesSeen<planner::EventBody, planner::NodeJoined>()), 5u);
  EXPECT_EQ((LeavesSeen<planner::EventBody, planner::NodeSuspended>()), 1u);
  EXPECT_EQ((LeavesSeen<planner::EventBody, planner::NodeLost>()), 1u);
}

}  // namespace
}  // namespace hoplite::sim
