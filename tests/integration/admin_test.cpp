// The admin service as a client of gRPC sees it.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "integration/admin_fixture.h"
#include "testing/raw_session.h"

namespace hoplite::admin {
namespace {

using test::RawSession;

TEST_F(AdminTest, StatusShowsTheShard) {
  Start();
  Join();
  std::vector<ObjectId> objects;
  for (int i = 0; i < 5; ++i) Put(objects.emplace_back(ObjectId::FromName(std::to_string(i))));
  std::ranges::sort(objects);
  std::string after;
  std::vector<std::string> seen;
  v1::StatusResponse page;
  do {
    page.Clear();
    const grpc::Status status = Status(page, 2, after);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(page.nodes_size(), after.empty() ? 1 : 0);
    for (const v1::Object& object : page.objects()) seen.push_back(object.object_id());
    after = seen.back();
  } while (page.more());
  EXPECT_THAT(seen, testing::ElementsAre(Bytes(objects[0]), Bytes(objects[1]), Bytes(objects[2]),
                                         Bytes(objects[3]), Bytes(objects[4])));
  EXPECT_EQ(page.shard().object_count(), 5u);
  EXPECT_EQ(page.shard().shard_count(), 1u);
  EXPECT_EQ(page.shard().index(), 0u);
}

TEST_F(AdminTest, ALargePictureHasPagesThatClientsTake) {
  Start();
  Join();
  AnnounceAThousand();
  v1::StatusResponse page;
  ASSERT_TRUE(Status(page).ok());
  EXPECT_TRUE(page.more());
  EXPECT_LE(page.ByteSizeLong(), 3_MiB);
  v1::InfoResponse all;
  std::vector<std::string> ids;
  for (int i = 0; i < 1'000; ++i) ids.push_back(Bytes(ObjectId::FromName(std::to_string(i))));
  const grpc::Status status = Info(ids, all);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("ask about fewer"));
  // gRPC's own end would wait for a thread that still waits for room to write.
  stub_.reset();
  const auto begin = std::chrono::steady_clock::now();
  admin_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST_F(AdminTest, InfoTellsWhatBecameOfAnObject) {
  Start();
  Join();
  const ObjectId object = ObjectId::FromName("a");
  EXPECT_EQ(InfoOf(object).state(), v1::OBJECT_STATE_ABSENT);
  Announce(object, 100'000);
  EXPECT_EQ(InfoOf(object).state(), v1::OBJECT_STATE_PARTIAL);
  node_->Say(protocol::CopyComplete{object, version_});
  ASSERT_TRUE(node_->Sees(object, [](const auto& view) { return view.holders.at(0).complete; }));
  const v1::Object complete = InfoOf(object);
  EXPECT_EQ(complete.state(), v1::OBJECT_STATE_COMPLETE);
  EXPECT_EQ(complete.size_bytes(), 100'000u);
  ASSERT_EQ(complete.holders_size(), 1);
  EXPECT_EQ(complete.holders(0).node(), "n1");
  node_->Say(protocol::Delete{object});
  ASSERT_TRUE(node_->Take<protocol::Deleted>(object));
  const v1::Object deleted = InfoOf(object);
  EXPECT_EQ(deleted.state(), v1::OBJECT_STATE_DELETED);
  EXPECT_EQ(deleted.failure().code(), "deleted");
}

TEST_F(AdminTest, BadInputIsNamed) {
  Start();
  v1::InfoResponse response;
  const auto refused = [&](const std::vector<std::string>& ids) {
    const grpc::Status status = Info(ids, response);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  const std::string id(20, 'i');
  EXPECT_THAT(refused({}), testing::HasSubstr("object_ids has 0 ids"));
  EXPECT_THAT(refused({id, "short"}), testing::HasSubstr("object_ids[1] has 5 bytes"));
  EXPECT_THAT(refused(std::vector(1'001, id)), testing::HasSubstr("object_ids has 1001 ids"));
  v1::StatusResponse status;
  EXPECT_EQ(Status(status, 0, "short").error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Wait({ObjectId::Random()}, 2)->Code(), StatusCode::INVALID_ARGUMENT);
  // gRPC's own bound of a message.
  EXPECT_EQ(Info({std::string(100'000, 'i')}, response).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(AdminTest, AnotherShardsObjectsAreRefusedByName) {
  const std::vector<std::string> shards = {test::FreeAddress(), "127.0.0.1:1"};
  Start(0ms, shards);
  std::vector<ObjectId> of(2);
  for (int i = 0; i < 100; ++i) {
    const ObjectId object = ObjectId::FromName(std::to_string(i));
    of[directory::ShardOf(object, 2)] = object;
  }
  EXPECT_EQ(InfoOf(of[0]).state(), v1::OBJECT_STATE_ABSENT);
  v1::InfoResponse response;
  const grpc::Status status = Info({Bytes(of[0]), Bytes(of[1])}, response);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("shard 1, 127.0.0.1:1"));
  EXPECT_EQ(Wait({of[1]})->Code(), StatusCode::FAILED_PRECONDITION);
}

TEST_F(AdminTest, WaitsEndWhenObjectsAreComplete) {
  Start();
  Join();
  const ObjectId a = ObjectId::FromName("a");
  const ObjectId b = ObjectId::FromName("b");
  const auto one = Wait({a, b}, 1);
  const auto both = Wait({a, b, a});
  EXPECT_TRUE(IsOpen(*one));
  Announce(b, 100'000);
  EXPECT_TRUE(IsOpen(*one));
  node_->Say(protocol::CopyComplete{b, version_});
  ASSERT_EQ(one->Code(), StatusCode::OK);
  EXPECT_THAT(one->response.states(),
              testing::ElementsAre(v1::OBJECT_STATE_ABSENT, v1::OBJECT_STATE_COMPLETE));
  EXPECT_TRUE(IsOpen(*both));
  Put(a);
  ASSERT_EQ(both->Code(), StatusCode::OK);
  ASSERT_EQ(Wait({a, b})->Code(), StatusCode::OK);
}

TEST_F(AdminTest, WaitsEndWhenObjectsAreGone) {
  Start();
  Join();
  const ObjectId a = ObjectId::FromName("a");
  const ObjectId b = ObjectId::FromName("b");
  Put(b, 100'000);
  const auto deleted = Wait({a, b});
  EXPECT_TRUE(IsOpen(*deleted));
  node_->Say(protocol::Delete{a});
  ASSERT_EQ(deleted->Code(), StatusCode::OK);
  EXPECT_THAT(deleted->response.states(),
              testing::ElementsAre(v1::OBJECT_STATE_DELETED, v1::OBJECT_STATE_COMPLETE));
  const auto lost = Wait({b, ObjectId::FromName("c")});
  EXPECT_TRUE(IsOpen(*lost));
  node_.reset();  // it is lost after its grace
  ASSERT_EQ(lost->Code(), StatusCode::OK);
  EXPECT_THAT(lost->response.states(),
              testing::ElementsAre(v1::OBJECT_STATE_LOST, v1::OBJECT_STATE_ABSENT));
}

TEST_F(AdminTest, AWaitEndsWithItsCall) {
  Start();
  EXPECT_EQ(Wait({ObjectId::Random()}, 0, 100ms)->Code(), StatusCode::DEADLINE_EXCEEDED);
  const auto cancelled = Wait({ObjectId::Random()});
  EXPECT_TRUE(IsOpen(*cancelled));
  cancelled->context.TryCancel();
  EXPECT_EQ(cancelled->Code(), StatusCode::CANCELLED);
}

TEST_F(AdminTest, OpenWaitsAreBoundedAndLeaveNothingBehind) {
  Start();
  std::vector<std::unique_ptr<v1::Admin::Stub>> stubs;
  std::vector<std::unique_ptr<PendingWait>> waits;
  // A connection has a hundred calls.
  for (int connection = 0; connection < 11; ++connection) {
    stubs.push_back(NewStub());
    for (int i = 0; i < 100; ++i) waits.push_back(WaitAt(*stubs.back(), {ObjectId::Random()}));
  }
  const auto ended = [](const auto& wait) {
    return wait->status.wait_for(0s) == std::future_status::ready;
  };
  ASSERT_TRUE(test::Eventually([&] { return std::ranges::count_if(waits, ended) == 100; }));
  std::erase_if(waits, [&](const auto& wait) {
    return ended(wait) && wait->Code() == StatusCode::RESOURCE_EXHAUSTED;
  });
  EXPECT_EQ(waits.size(), 1'000u);
  for (const auto& wait : waits) wait->context.TryCancel();
  for (const auto& wait : waits) EXPECT_EQ(wait->Code(), StatusCode::CANCELLED);
  EXPECT_TRUE(test::Eventually([&] {
    return Wait({ObjectId::Random()}, 0, 100ms)->Code() == StatusCode::DEADLINE_EXCEEDED;
  }));
}

TEST_F(AdminTest, AShardThatCollectsIsUnavailable) {
  Start(10min);
  v1::StatusResponse response;
  const grpc::Status status = Status(response);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("still collects"));
  EXPECT_EQ(Wait({ObjectId::Random()})->Code(), StatusCode::UNAVAILABLE);
  v1::InfoResponse info;
  EXPECT_EQ(Info({std::string(20, 'i')}, info).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(AdminTest, AMemberThatStandsByNamesTheHolder) {
  Start(0ms, {"127.0.0.1:1/127.0.0.1:2/" + test::FreeAddress()});
  v1::StatusResponse response;
  const grpc::Status status = Status(response);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "this member stands by for 127.0.0.1:1, which holds the shard");
  EXPECT_EQ(Wait({ObjectId::Random()})->Code(), StatusCode::UNAVAILABLE);
}

TEST_F(AdminTest, AShardThatCollectedGoesOnThoughNobodyCame) {
  Start(300ms);
  EXPECT_TRUE(test::Eventually([&] { return ServiceGoesOn(); }));
}

TEST_F(AdminTest, ItStopsAtOnceWhateverWaits) {
  Start();
  const auto wait = Wait({ObjectId::Random()});
  EXPECT_TRUE(IsOpen(*wait));
  const RawSession silent(admin_->address());
  const auto begin = std::chrono::steady_clock::now();
  admin_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_EQ(wait->Code(), StatusCode::UNAVAILABLE);
}

TEST_F(AdminTest, APortInUseIsAnError) {
  Start();
  const auto second =
      AdminServer::Start({admin_->address(), {}, shard_->address()}, shard_->service());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(ServiceGoesOn());
}

}  // namespace
}  // namespace hoplite::admin
