// What tests of conversions share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "wire/directory_messages.h"

namespace hoplite::wire {

// What was sent and what came back say the same in every field: compared as encoded messages.
template <typename T>
void ExpectSurvives(const T& original) {
  auto message = ToProto(original);
  const std::string encoded = message.SerializeAsString();
  const auto back = FromProto(message);
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ(ToProto(*back).SerializeAsString(), encoded);
}

// Takes a good message, spoils one field, expects an error that names it.
template <typename Message>
struct Spoiled {
  const char* field;
  std::function<void(Message&)> spoil;
};

template <typename Message>
void ExpectNamed(const Message& good, const std::vector<Spoiled<Message>>& cases) {
  Message untouched = good;
  ASSERT_TRUE(FromProto(untouched)) << FromProto(untouched).error().ToString();
  for (const auto& [field, spoil] : cases) {
    Message bad = good;
    spoil(bad);
    const auto result = FromProto(bad);
    ASSERT_FALSE(result) << field;
    EXPECT_EQ(result.error().code, ErrorCode::kProtocol);
    EXPECT_NE(result.error().message.find("'" + std::string(field) + "'"), std::string::npos)
        << field << ": " << result.error().message;
  }
}

}  // namespace hoplite::wire
