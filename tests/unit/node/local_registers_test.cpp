// Registers by the local protocol, in raw bytes.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "testing/local_node.h"
#include "testing/raw_client.h"

namespace hoplite::test {
namespace {

using node::local::Request;

TEST(LocalRegistersTest, IsOpenUntilItsRelease) {
  LocalNode node;
  RawClient raw(node.path());
  raw.Hello();
  ASSERT_TRUE(raw.Receive()->has_attached());
  const auto ask = [&raw](std::uint64_t id, Request request) {
    request.set_id(id);
    raw.Send(request);
    return *raw.Receive();
  };
  Request open;
  open.mutable_open_register()->set_name("it");
  ASSERT_TRUE(ask(2, open).has_done());
  Request write;
  write.mutable_write_register()->set_open(2);
  write.mutable_write_register()->set_value("a");
  const auto written = ask(3, write).registered();
  EXPECT_TRUE(written.written());
  EXPECT_EQ(written.value(), "a");
  EXPECT_FALSE(ask(4, write).registered().written()) << "it was written before";
  Request read;
  read.mutable_read_register()->set_open(2);
  EXPECT_EQ(ask(5, read).registered().number().sequence(), written.number().sequence());
  Request wait;
  wait.set_id(6);
  wait.mutable_await_register()->set_open(2);
  wait.mutable_await_register()->mutable_after()->set_incarnation(9);
  raw.Send(wait);
  Request release;
  release.mutable_release()->set_made_by(2);
  raw.Send(release);
  const auto ended = *raw.Receive();
  EXPECT_EQ(ended.id(), 6u) << "who waits is answered";
  EXPECT_TRUE(ended.has_error());
  EXPECT_TRUE(ask(7, read).has_error());
}

TEST(LocalRegistersTest, BadNamesAndHandlesAreAnsweredWithErrors) {
  LocalNode node;
  RawClient raw(node.path());
  raw.Hello();
  ASSERT_TRUE(raw.Receive()->has_attached());
  const auto refused = [&raw](const Request& request) {
    raw.Send(request);
    return raw.Receive()->error().code() == static_cast<std::uint32_t>(ErrorCode::kInvalidArgument);
  };
  Request request;
  request.set_id(2);
  request.mutable_open_register()->set_name(std::string(257, 'n'));
  EXPECT_TRUE(refused(request));
  request.mutable_open_register()->clear_name();
  EXPECT_TRUE(refused(request));
  request.mutable_read_register()->set_open(77);
  EXPECT_TRUE(refused(request));
  request.mutable_write_register()->set_open(77);
  EXPECT_TRUE(refused(request));
  request.mutable_await_register()->set_open(77);
  EXPECT_TRUE(refused(request));
}

}  // namespace
}  // namespace hoplite::test
