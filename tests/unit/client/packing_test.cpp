// Of which objects a version is made, and what is believed of their bytes.
#include "client/channel/packing.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/channel/head.h"
#include "client/channel/patch.h"
#include "client/channel/patched.h"

namespace hoplite::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A value, as its publisher has it.
using Value = std::map<std::string, std::string>;

std::vector<Part> PartsOf(const Value& value) {
  std::vector<Part> parts;
  for (const auto& [name, bytes] : value) {
    parts.push_back({.name = name, .bytes = std::as_bytes(std::span(bytes))});
  }
  return parts;
}

std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Publishes, and keeps the objects of the newest version.
class Shelf {
 public:
  explicit Shelf(bool patches = false) : patches_(patches) {}

  void Publish(const Value& value, std::size_t most_older = kMostObjects - 1) {
    Version last{.manifest = manifest_, .object_bytes = {}, .parts = {}};
    for (const std::string& object : objects_) last.object_bytes.push_back(object.size());
    for (const Part& part : manifest_.parts) {
      last.parts.push_back(std::as_bytes(std::span(value_.at(part.name))));
    }
    Packing packing = Pack(PartsOf(value), "of the whole", objects_.empty() ? nullptr : &last,
                           {.most_older = most_older, .patches = patches_});
    std::vector<std::string> objects{Encoded(packing.manifest)};
    for (const auto& piece : packing.pieces) objects[0] += Text(piece);
    sent_ = objects[0].size();
    for (const std::size_t older : packing.older) objects.push_back(objects_[older]);
    objects_ = std::move(objects);
    manifest_ = std::move(packing.manifest);
    value_ = value;
  }
  // By a reader, from the objects alone.
  Value Read() const {
    const auto newest = std::as_bytes(std::span(objects_[0]));
    const Manifest manifest =
        Decoded(newest.first(BytesBeforeParts(newest, newest.size()).value())).value();
    EXPECT_EQ(manifest.metadata, "of the whole");
    const auto bytes_at = [this](const Place& place) {
      return BytesAt(place, std::as_bytes(std::span(objects_[place.object])));
    };
    Patched patched;
    Value value;
    for (std::size_t i = 0; i < manifest.parts.size(); ++i) {
      auto bytes = bytes_at(manifest.lying[i].place).value();
      bytes = patched.Make(bytes, manifest.lying[i], bytes_at).value();
      value[manifest.parts[i].name] = Text(bytes);
    }
    return value;
  }
  std::size_t sent() const { return sent_; }
  std::size_t count() const { return objects_.size(); }
  std::size_t bytes() const {
    std::size_t bytes = 0;
    for (const std::string& object : objects_) bytes += object.size();
    return bytes;
  }

 private:
  const bool patches_;
  std::vector<std::string> objects_;
  Manifest manifest_;
  Value value_;
  std::size_t sent_ = 0;
};

std::string Large(char with) { return std::string(kComparedFrom, with); }

TEST(PackingTest, WhatChangedIsSent) {
  Shelf shelf;
  Value value{
      {"a", Large('a')}, {"b", Large('b')}, {"c", Large('c')}, {"d", "small"}, {"empty", ""}};
  shelf.Publish(value);
  EXPECT_EQ(shelf.Read(), value);
  shelf.Publish(value);
  EXPECT_EQ(shelf.Read(), value);
  EXPECT_EQ(shelf.count(), 2U);
  EXPECT_LT(shelf.sent(), 1000U);
  value["b"].back() = 'x';
  shelf.Publish(value);
  EXPECT_EQ(shelf.Read(), value);
  EXPECT_LT(shelf.sent(), kComparedFrom + 1000);
}

TEST(PackingTest, APartOfAnotherSizeIsSent) {
  Shelf shelf;
  shelf.Publish({{"a", Large('a')}});
  const Value longer{{"a", Large('a') + "a"}};
  shelf.Publish(longer);
  EXPECT_EQ(shelf.Read(), longer);
  EXPECT_EQ(shelf.count(), 1U);
}

TEST(PackingTest, AnObjectOfWhichLittleServesIsNotKept) {
  Shelf shelf;
  Value value;
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) value[std::string(1, name)] = Large(name);
  shelf.Publish(value);
  for (const char name : {'a', 'b', 'c'}) value.erase(std::string(1, name));
  shelf.Publish(value);
  EXPECT_EQ(shelf.Read(), value);
  EXPECT_EQ(shelf.count(), 1U);
  EXPECT_GT(shelf.sent(), 2 * kComparedFrom);
}

TEST(PackingTest, TheObjectsThatServeMostAreKeptIfTheyAreTooMany) {
  Shelf shelf;
  Value value;
  for (char name = 'a'; name <= 'f'; ++name) {
    value[std::string(1, name)] = std::string(kComparedFrom * (1 + name - 'a'), name);
    shelf.Publish(value, 3);
    EXPECT_EQ(shelf.Read(), value);
    EXPECT_LE(shelf.count(), 4U);
  }
}

TEST(PackingTest, BytesOfOnePlaceAreSentOnce) {
  const std::string bytes = Large('a');
  const std::vector<Part> parts{{.name = "a", .bytes = std::as_bytes(std::span(bytes))},
                                {.name = "b", .bytes = std::as_bytes(std::span(bytes))}};
  const Packing packing = Pack(parts, "", nullptr, {});
  EXPECT_EQ(packing.pieces.size(), 1U);
  EXPECT_EQ(packing.manifest.lying[0], packing.manifest.lying[1]);
}

TEST(PackingTest, OfAPartOfWhichLittleChangedAPatchIsSent) {
  Shelf shelf(true);
  std::mt19937_64 random(1);
  Value value{{"a", Large('a') + Large('b')}, {"b", Large('c')}};
  shelf.Publish(value);
  std::size_t whole = 0;
  for (int version = 0; version < 100; ++version) {
    for (std::size_t i = 0; i < 300; ++i) value["a"][random() % value["a"].size()] ^= 1;
    shelf.Publish(value);
    ASSERT_EQ(shelf.Read(), value) << version;
    EXPECT_LE(shelf.count(), kMostObjects);
    whole += shelf.sent() > 10'000 ? 1 : 0;
    EXPECT_LE(shelf.bytes(), 3 * 3 * kComparedFrom);
  }
  EXPECT_LE(whole, 7U);  // its patches together may be half of it
  value["a"] = Large('x') + Large('y');
  shelf.Publish(value);
  EXPECT_EQ(shelf.Read(), value);
  EXPECT_GT(shelf.sent(), 2 * kComparedFrom);
}

TEST(PatchTest, MakesTheNewBytesOfTheOldOnes) {
  std::mt19937_64 random(1);
  for (const std::size_t width : {1, 2, 4, 8}) {
    for (int i = 0; i < 200; ++i) {
      std::string old_bytes(width * (random() % 300), 'a');
      std::string new_bytes = old_bytes;
      const std::size_t changes = new_bytes.empty() ? 0 : random() % 40;
      for (std::size_t change = 0; change < changes; ++change) {
        new_bytes[random() % new_bytes.size()] = static_cast<char>(random());
      }
      const auto patch = PatchOf(std::as_bytes(std::span(old_bytes)),
                                 std::as_bytes(std::span(new_bytes)), width, 1 << 20);
      ASSERT_TRUE(patch);
      ASSERT_TRUE(Apply(std::as_bytes(std::span(*patch)), width,
                        std::as_writable_bytes(std::span(old_bytes))));
      ASSERT_EQ(old_bytes, new_bytes);
    }
  }
  const std::string zeros(100, '\0');
  const std::string ones(100, '\1');
  EXPECT_FALSE(PatchOf(std::as_bytes(std::span(zeros)), std::as_bytes(std::span(ones)), 4, 25));
}

TEST(PatchTest, APatchOfAStrangerWritesNowhereElse) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string patch(random() % 30, '\0');
    for (char& byte : patch) byte = static_cast<char>(random());
    std::string bytes(64 + 16, 'a');
    const auto inside = std::as_writable_bytes(std::span(bytes)).subspan(8, 64);
    const auto applied =
        Apply(std::as_bytes(std::span(patch)), std::size_t{1} << random() % 4, inside);
    EXPECT_EQ(bytes.substr(0, 8) + bytes.substr(72), std::string(16, 'a'));
    if (!applied) {
      EXPECT_THAT(applied.error().message, HasSubstr("elements that its part has not"));
    }
  }
}

TEST(PatchTest, AnElementHasTheBytesOfItsDtype) {
  for (const auto& [dtype, bytes] : std::map<std::string, std::size_t>{{"bfloat16", 2},
                                                                       {"float32", 4},
                                                                       {"float64", 8},
                                                                       {"int8", 1},
                                                                       {"uint8", 1},
                                                                       {"uint64", 8},
                                                                       {"float8_e5m2", 1},
                                                                       {"<f4", 4},
                                                                       {"<f8", 8},
                                                                       {"<f2", 2},
                                                                       {"|b1", 1},
                                                                       {"bool", 1},
                                                                       {"", 4}}) {
    EXPECT_EQ(ElementBytes(dtype, 1 << 20), bytes) << dtype;
  }
  EXPECT_EQ(ElementBytes("float32", 1001), 1U);
}

// Whatever changes, a reader gets the value; and what is stored stays within bounds.
TEST(PackingTest, RandomHistoriesAreReadAsTheyWerePublished) {
  std::mt19937_64 random(1);
  for (int history = 0; history < 60; ++history) {
    Shelf shelf(history % 2 == 0);
    Value value;
    for (int step = 0; step < 20; ++step) {
      for (int changes = static_cast<int>(random() % 4); changes > 0; --changes) {
        std::string& part = value[std::string(1, static_cast<char>('a' + random() % 8))];
        const auto fill = static_cast<char>(random());
        if (random() % 2 == 0) part = std::string(random() % (3 * kComparedFrom), fill);
        if (!part.empty()) part[random() % part.size()] = fill;
        if (random() % 8 == 0) value.erase(value.begin());
      }
      shelf.Publish(value, 1 + random() % 4);
      ASSERT_EQ(shelf.Read(), value) << history << ' ' << step;
      std::size_t bytes = 0;
      for (const auto& [name, part] : value) bytes += part.size() + kPartAlignment;
      ASSERT_LE(shelf.bytes(), 2 * bytes + 10'000);
    }
  }
}

TEST(ManifestTest, BytesOfAStrangerAreRefused) {
  Packing packing = Pack(PartsOf({{"a", "bytes"}}), "", nullptr, {});
  const std::string good = Encoded(packing.manifest) + std::string(64, 'x');
  const auto before = [](const std::string& object) {
    return BytesBeforeParts(std::as_bytes(std::span(object)), object.size());
  };
  EXPECT_TRUE(before(good));
  EXPECT_THAT(before("short").error().message, HasSubstr("too small"));
  std::string wrong = good;
  for (const std::uint64_t length : {good.size() - 7, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    std::memcpy(wrong.data(), &length, sizeof(length));
    EXPECT_THAT(before(wrong).error().message, HasSubstr("its manifest has"));
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string broken = good;
    for (int changes = 0; changes < 3; ++changes) {
      broken[random() % broken.size()] = static_cast<char>(random());
    }
    const auto object = std::as_bytes(std::span(broken));
    const auto begin = BytesBeforeParts(object, object.size());
    const auto manifest = begin ? Decoded(object.first(*begin)) : Result<Manifest>(Manifest());
    for (const Lying& lying : manifest ? manifest->lying : std::vector<Lying>()) {
      if (const auto bytes = BytesAt(lying.place, object)) {
        EXPECT_LE(bytes->data() + bytes->size(), object.data() + object.size());
      }
    }
  }
  packing.manifest.parts.push_back(packing.manifest.parts[0]);
  packing.manifest.lying.emplace_back();
  const std::string twice = Encoded(packing.manifest);
  EXPECT_THAT(Decoded(std::as_bytes(std::span(twice))).error().message,
              HasSubstr("two parts are named 'a'"));
  const std::uint64_t most = ~std::uint64_t{0};
  for (const Place& place : {Place{0, most, 1}, Place{0, 1, most}, Place{0, 0, 65}}) {
    EXPECT_FALSE(BytesAt(place, std::as_bytes(std::span(good)))) << place.offset;
  }
}

TEST(HeadTest, IsReadAsItWasPacked) {
  Head head{.claim = RandomClaim(), .version = 77, .objects = {}};
  for (std::size_t i = 0; i < kMostObjects; ++i) head.objects.push_back(ObjectId::Random());
  const std::string packed = Packed(head);
  EXPECT_LE(packed.size(), kMaxRegisterBytes);
  const auto read = HeadOf({.number = {1, 1}, .value = packed, .has_writer = true}).value();
  EXPECT_EQ(read->claim, head.claim);
  EXPECT_EQ(read->version, 77U);
  EXPECT_EQ(read->objects, head.objects);
  EXPECT_FALSE(HeadOf({}).value());
  for (const std::size_t size : {std::size_t{0}, std::size_t{23}, packed.size() - 1}) {
    EXPECT_THAT(HeadOf({.number = {1, 1}, .value = packed.substr(0, size)}).error().message,
                HasSubstr("no channel's head"));
  }
}

}  // namespace
}  // namespace hoplite::client
