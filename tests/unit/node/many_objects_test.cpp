// Requests that name many objects, in raw messages.
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "node/local/local_convert.h"
#include "testing/local_node.h"
#include "testing/raw_client.h"

namespace hoplite::test {
namespace {

using node::local::Request;

std::string IdOf(const char* name) {
  const ObjectId id = ObjectId::FromName(name);
  return std::string(id.view());
}

// One request, one answer; each view has an id of its own.
TEST(ManyObjectsTest, ManyObjectsAreGotByOneRequest) {
  LocalNode node;
  Client other = node.Worker();
  ASSERT_TRUE(other.Put("a", {.id = ObjectId::FromName("a")}));
  ASSERT_TRUE(other.Put("b", {.id = ObjectId::FromName("b")}));
  RawClient client(node.path());
  client.Hello();
  client.Receive();
  Request request;
  request.set_id(5);
  request.set_timeout_us(1000);
  request.mutable_get_many()->set_objects(IdOf("a") + IdOf("missing") + IdOf("b"));
  client.Send(request);
  const auto answer = client.Receive();
  ASSERT_TRUE(answer && answer->has_views());
  EXPECT_EQ(answer->id(), 5u);
  ASSERT_EQ(answer->views().got_size(), 3);
  EXPECT_EQ(answer->views().got(0).view().size(), 1u);
  const auto& missing = answer->views().got(1).error();
  EXPECT_EQ(missing.code(), static_cast<std::uint32_t>(ErrorCode::kTimeout));
  EXPECT_EQ(missing.message(),
            "object " + ObjectId::FromName("missing").ToHex() + " is not complete");
  EXPECT_TRUE(answer->views().got(2).has_view());
  const auto pins = [&] { return other.Status().value().clients.pins; };
  EXPECT_EQ(pins(), 2u);
  Request release;
  release.mutable_release()->set_made_by(5);
  release.mutable_release()->set_count(3);
  client.Send(release);
  EXPECT_TRUE(Eventually([&] { return pins() == 0; }));

  request.set_id(9);
  for (const std::string& ids : {std::string(), std::string(21, 'x'), std::string(20, '\0'),
                                 std::string(20 * (wire::kMaxGetMany + 1), 'x')}) {
    request.mutable_get_many()->set_objects(ids);
    client.Send(request);
    EXPECT_EQ(client.Receive()->error().code(),
              static_cast<std::uint32_t>(ErrorCode::kInvalidArgument));
  }
}

protocol::ObjectView ViewOf(const char* name, std::size_t metadata_bytes) {
  protocol::ObjectView view;
  view.object = ObjectId::FromName(name);
  view.metadata = std::string(metadata_bytes, 'm');
  return view;
}

// One request, one answer; what has no room in it is left out, and what has none at all an error.
TEST(ManyObjectsTest, WhatIsKnownOfManyIsOneAnswer) {
  LocalNode node;
  Client other = node.Worker();
  ASSERT_TRUE(other.Put("a", {.id = ObjectId::FromName("a")}));
  RawClient client(node.path());
  client.Hello();
  client.Receive();
  Request request;
  request.set_id(5);
  request.mutable_info()->set_objects(IdOf("missing") + IdOf("a"));
  client.Send(request);
  const auto answer = client.Receive();
  ASSERT_TRUE(answer && answer->has_infos());
  ASSERT_EQ(answer->infos().got_size(), 2);
  EXPECT_EQ(answer->infos().got(0).error().code(),
            static_cast<std::uint32_t>(ErrorCode::kNotFound));
  EXPECT_EQ(answer->infos().got(1).info().object(), IdOf("a"));

  const std::vector<Result<protocol::ObjectView>> views{ViewOf("a", 1000), ViewOf("b", 1000),
                                                        ViewOf("c", 1000)};
  node::local::Infos infos;
  node::FillInfos(views, 2500, infos);
  ASSERT_EQ(infos.got_size(), 2);
  EXPECT_EQ(infos.got(1).info().object(), IdOf("b"));
  infos.Clear();
  node::FillInfos(std::span(views).first(1), 500, infos);
  ASSERT_EQ(infos.got_size(), 1);
  EXPECT_EQ(infos.got(0).error().code(), static_cast<std::uint32_t>(ErrorCode::kResourceExhausted));
}

// However many have it.
TEST(ManyObjectsTest, AReasonIsSaidOnce) {
  LocalNode node;
  RawClient client(node.path());
  client.Hello();
  client.Receive();
  Request request;
  request.set_id(5);
  request.set_timeout_us(1);
  std::string ids;
  for (int i = 0; i < 1000; ++i) ids += IdOf(std::to_string(i).c_str());
  request.mutable_get_many()->set_objects(ids);
  client.Send(request);
  const auto answer = client.Receive();
  ASSERT_TRUE(answer && answer->has_views());
  ASSERT_EQ(answer->views().got_size(), 1000);
  std::size_t own_ends = 0;
  for (const auto& got : answer->views().got()) {
    own_ends += got.has_error() ? 1 : 0;
    ASSERT_TRUE(got.has_error() || got.has_unfinished());
  }
  EXPECT_LE(own_ends, 16U) << "of the first few, and of those of one turn that were begun late";
  EXPECT_EQ(answer->views().reasons_size(), 1);
  EXPECT_EQ(answer->views().reasons(0), "is not complete");
}

}  // namespace
}  // namespace hoplite::test
