// What a node keeps of clients that close while its answers are on their way to them.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "testing/bytes.h"
#include "testing/local_node.h"
#include "testing/raw_client.h"

namespace hoplite::test {
namespace {

using node::Operations;
using node::local::Request;

class ClosedClientTest : public testing::Test {
 protected:
  std::uint64_t clients() { return observer_.Status()->clients.clients; }
  std::uint64_t pins() { return observer_.Status()->clients.pins; }
  bool OnlyTheObserverIsLeft() {
    return Eventually([this] { return clients() == 1; });
  }
  auto LastEnd() {
    return node_.OnLoop([this] { return node_.operations().client_end(); });
  }

  LocalNode node_;
  Client observer_ = node_.Worker();
  const ObjectId id_ = observer_.Put(Pattern(1_MiB)).value();
};

TEST_F(ClosedClientTest, LeavesNothingOfAnswersThatAreOnTheirWay) {
  for (int round = 0; round < 100; ++round) {
    Client client = node_.Worker();
    std::vector<Future<Buffer>> given_up;
    for (int i = 0; i < 40; ++i) given_up.push_back(client.GetAsync(id_));
    given_up.clear();
    client.Close();
  }
  EXPECT_TRUE(OnlyTheObserverIsLeft()) << clients() << " sessions, " << pins() << " pins";
  ASSERT_TRUE(observer_.Delete(id_));
  EXPECT_TRUE(Eventually([this] { return node_.used_bytes() == 0; }));
}

// Else what it owns would be taken for what a dead process left.
TEST_F(ClosedClientTest, IsNotTakenForADeadOne) {
  for (int round = 0; round < 100; ++round) {
    {
      Client client = node_.Worker();
      std::vector<Future<Buffer>> given_up;
      for (int i = 0; i < 40; ++i) given_up.push_back(client.GetAsync(id_));
    }
    ASSERT_TRUE(OnlyTheObserverIsLeft());
    ASSERT_EQ(LastEnd(), Operations::ClientEnd::kClosed) << "round " << round;
  }
}

// Its process lives on, and the node can see that.
TEST_F(ClosedClientTest, LeavesNoPinsWhenItsPipeHasEndedToo) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor read(ends[0]);
  FileDescriptor write(ends[1]);
  {
    RawClient raw(node_.path());
    Request hello;
    hello.set_id(1);
    hello.mutable_hello()->set_protocol_version(wire::kLocalProtocolVersion);
    hello.mutable_hello()->set_pipe(true);
    raw.Send(hello, std::array{read.get()});
    ASSERT_TRUE(raw.Receive()->has_attached());
    Request get;
    get.set_id(2);
    get.mutable_get()->set_object(std::string(id_.view()));
    raw.Send(get);
    ASSERT_TRUE(raw.Receive()->has_view());
  }
  ASSERT_TRUE(observer_.Delete(id_));
  EXPECT_GE(node_.used_bytes(), 1_MiB) << "somebody holds the pipe";
  write.Reset();
  EXPECT_TRUE(OnlyTheObserverIsLeft());
  EXPECT_EQ(node_.used_bytes(), 0u);
}

TEST_F(ClosedClientTest, KeepsItsViewsAsLongAsItHasThem) {
  Result<Buffer> view = std::unexpected(Error(ErrorCode::kNotFound, "none yet"));
  {
    Client client = node_.Worker();
    view = client.Get(id_);
    client.Close();
  }
  ASSERT_TRUE(observer_.Delete(id_));
  ASSERT_TRUE(observer_.Put(std::string(1_MiB, 'z')));
  ASSERT_TRUE(view);
  EXPECT_TRUE(std::ranges::equal(view->bytes(), Pattern(1_MiB)));
}

// The requester gave up while the answer was on its way: nobody else would release what it made.
TEST_F(ClosedClientTest, ACancelOfAnAnsweredRequestReleasesWhatItMade) {
  RawClient raw(node_.path());
  raw.Hello();
  ASSERT_TRUE(raw.Receive()->has_attached());
  Request one;
  one.set_id(2);
  one.mutable_get()->set_object(std::string(id_.view()));
  raw.Send(one);
  ASSERT_TRUE(raw.Receive()->has_view());
  Request many;
  many.set_id(3);
  many.mutable_get_many()->set_objects(std::string(id_.view()) + std::string(id_.view()));
  raw.Send(many);
  ASSERT_EQ(raw.Receive()->views().got_size(), 2);
  EXPECT_EQ(pins(), 3u);
  Request cancel;
  cancel.mutable_cancel()->set_request(3);
  cancel.mutable_cancel()->set_count(2);
  raw.Send(cancel);
  EXPECT_TRUE(Eventually([this] { return pins() == 1; }));
  cancel.mutable_cancel()->set_request(2);
  cancel.mutable_cancel()->clear_count();
  raw.Send(cancel);
  EXPECT_TRUE(Eventually([this] { return pins() == 0; }));
}

}  // namespace
}  // namespace hoplite::test
