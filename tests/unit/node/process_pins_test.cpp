// How a node knows that nobody looks at an object any more, when it can't see the process: by pipes.
// Clients are spoken in raw bytes, over a connection of which the node sees no process.
#include "node/local/process_pins.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "testing/bytes.h"
#include "testing/local_node.h"
#include "testing/raw_client.h"

namespace hoplite::test {
namespace {

using node::local::Request;

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

Pipe MakePipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {.read = FileDescriptor(ends[0]), .write = FileDescriptor(ends[1])};
}

class ProcessPinsTest : public testing::Test {
 protected:
  static Request Hello() {
    Request request;
    request.set_id(1);
    request.mutable_hello()->set_protocol_version(wire::kLocalProtocolVersion);
    request.mutable_hello()->set_in_process(true);
    request.mutable_hello()->set_pipe(true);
    return request;
  }
  // It keeps the pipe that it returns.
  FileDescriptor Greet() {
    Pipe pipe = MakePipe();
    raw_.Send(Hello(), std::array{pipe.read.get()});
    EXPECT_TRUE(raw_.Receive()->has_attached());
    return std::move(pipe.write);
  }
  void View(std::uint64_t number) {
    Request get;
    get.set_id(number);
    get.mutable_get()->set_object(std::string(id_.view()));
    raw_.Send(get);
    EXPECT_TRUE(raw_.Receive()->has_view());
  }
  // Answered when the node has heard all that was said before.
  void Release(std::uint64_t number) {
    Request request;
    request.mutable_release()->set_made_by(number);
    raw_.Send(request);
    request.set_id(99);
    request.mutable_status();
    raw_.Send(request);
    EXPECT_TRUE(raw_.Receive()->has_status());
  }
  FileDescriptor Fork() {
    Pipe pipe = MakePipe();
    Request request;
    request.mutable_forked()->set_pipe(true);
    raw_.Send(request, std::array{pipe.read.get()});
    return std::move(pipe.write);
  }
  bool IsFree() {
    return Eventually([this] { return node_.used_bytes() == 0; });
  }

  LocalNode node_;
  Client client_ = node_.Worker();
  const ObjectId id_ = client_.Put(Pattern(1_MiB)).value();
  RawClient raw_{[this] {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    node_.OnLoop([&] { return node_.endpoint().AddSession(ends[1]).has_value(); });
    return ends[0];
  }()};
};

TEST_F(ProcessPinsTest, PinsOfABrokenConnectionStayWhileItsPipeIsHeld) {
  FileDescriptor pipe = Greet();
  View(2);
  raw_.SendBytes("\xff\xff\xff\xff");
  EXPECT_FALSE(raw_.LastWord().empty());
  ASSERT_TRUE(client_.Delete(id_));
  EXPECT_GE(node_.used_bytes(), 1_MiB);
  pipe.Reset();
  EXPECT_TRUE(IsFree());
}

TEST_F(ProcessPinsTest, AForksPinsStayWhileTheOldPipeIsHeld) {
  FileDescriptor child = Greet();
  View(2);
  FileDescriptor second_child = Fork();
  const FileDescriptor pipe = Fork();
  Release(2);
  ASSERT_TRUE(client_.Delete(id_));
  EXPECT_EQ(client_.Status()->clients.pins, 2u) << "they are counted";
  child.Reset();
  EXPECT_TRUE(Eventually([this] { return client_.Status()->clients.pins == 1; }));
  EXPECT_GE(node_.used_bytes(), 1_MiB) << "the second child's";
  second_child.Reset();
  EXPECT_TRUE(IsFree());
}

TEST_F(ProcessPinsTest, AForkHasNoPinsOfWhatCameLater) {
  const FileDescriptor child = Greet();
  const FileDescriptor pipe = Fork();
  View(2);
  Release(2);
  ASSERT_TRUE(client_.Delete(id_));
  EXPECT_EQ(node_.used_bytes(), 0u);
}

// A pipe costs the node one descriptor, however often it comes.
TEST_F(ProcessPinsTest, APipeThatComesAgainIsThatPipe) {
  Pipe first = MakePipe();
  Pipe second = MakePipe();
  raw_.Send(Hello(), std::array{first.read.get()});
  EXPECT_TRUE(raw_.Receive()->has_attached());
  View(2);
  const auto descriptors = [] {
    return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                 std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  Request forked;
  forked.mutable_forked()->set_pipe(true);
  for (int i = 0; i < 100; ++i) {
    raw_.Send(forked, std::array{(i % 2 == 0 ? second : first).read.get()});
  }
  Release(2);
  EXPECT_LE(descriptors(), before + 2);
  ASSERT_TRUE(client_.Delete(id_));
  EXPECT_EQ(client_.Status()->clients.pins, 2u);
  second.write.Reset();
  first.write.Reset();
  EXPECT_TRUE(IsFree());
}

TEST_F(ProcessPinsTest, SoManyChildrenMayHoldWhatAClientReads) {
  std::vector<FileDescriptor> pipes;
  pipes.push_back(Greet());
  View(2);
  for (int i = 0; i < 1024; ++i) pipes.push_back(Fork());
  EXPECT_TRUE(Eventually([this] { return client_.Status()->clients.pins == 1025; }));
  pipes.push_back(Fork());
  EXPECT_THAT(raw_.LastWord(), testing::HasSubstr("1025 forked children hold 1025 views"));
  ASSERT_TRUE(client_.Delete(id_));
  EXPECT_GE(node_.used_bytes(), 1_MiB);
  pipes.clear();
  EXPECT_TRUE(IsFree());
}

TEST_F(ProcessPinsTest, WithoutAnotherPipeTheClientGoesOnWithItsOwn) {
  FileDescriptor both = Greet();
  View(2);
  Request forked;
  forked.mutable_forked();
  raw_.Send(forked);
  Release(2);
  ASSERT_TRUE(client_.Delete(id_));
  EXPECT_GE(node_.used_bytes(), 1_MiB);
  both.Reset();
  EXPECT_TRUE(IsFree());
}

TEST_F(ProcessPinsTest, WhatIsNoPipeIsRefused) {
  const FileDescriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  raw_.Send(Hello(), std::array{file.get()});
  EXPECT_THAT(raw_.LastWord(), testing::HasSubstr("no pipe"));
}

TEST_F(ProcessPinsTest, APipeThatDoesNotArriveIsSaidToBeMissing) {
  raw_.Send(Hello());
  const auto answer = raw_.Receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error().code(), static_cast<std::uint32_t>(ErrorCode::kResourceExhausted));
  EXPECT_THAT(answer->error().message(), testing::HasSubstr("no descriptor is left"));
}

TEST_F(ProcessPinsTest, DescriptorsForNothingAreRefused) {
  const FileDescriptor pipe = Greet();
  const FileDescriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Request request;
  request.set_id(2);
  request.mutable_status();
  raw_.Send(request, std::array{file.get(), file.get(), file.get()});
  EXPECT_TRUE(raw_.Receive()->has_status());
  request.set_id(3);
  raw_.Send(request, std::array{file.get(), file.get(), file.get()});
  EXPECT_THAT(raw_.LastWord(), testing::HasSubstr("no message is about"));
}

}  // namespace
}  // namespace hoplite::test
