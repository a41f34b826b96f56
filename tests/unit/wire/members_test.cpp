// Members of a shard, as a message names them.
#include <string>

#include <gtest/gtest.h>

#include "message_checks.h"
#include "wire/directory_messages.h"

namespace hoplite::wire {
namespace {

TEST(HostileMembers, ThatAreNotOfOneShard) {
  const Ended stands_by{.error = {ErrorCode::kUnavailable, "it stands by"},
                        .members = {.addresses = {"a:1", "b:1", "c:1"}, .holder = "b:1"}};
  ExpectNamed<v1::Ended>(
      ToProto(stands_by),
      {{"addresses", [](auto& m) { m.mutable_members()->set_addresses(1, "b"); }},
       {"addresses", [](auto& m) { m.mutable_members()->set_addresses(1, "a:1"); }},
       {"addresses", [](auto& m) { m.mutable_members()->add_addresses(std::string(300, 'x')); }},
       {"addresses",
        [](auto& m) {
          for (int i = 0; i < 3; ++i) m.mutable_members()->add_addresses("x:" + std::to_string(i));
        }},
       {"holder", [](auto& m) { m.mutable_members()->set_holder("d:1"); }},
       {"silent", [](auto& m) { m.mutable_members()->add_silent("d:1"); }}});
}

}  // namespace
}  // namespace hoplite::wire
