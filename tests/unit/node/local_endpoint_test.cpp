// The local endpoint against clients that don't behave, spoken to in raw bytes.
#include "node/local/local_endpoint.h"

#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing/bytes.h"
#include "testing/local_node.h"
#include "testing/raw_client.h"

namespace hoplite::test {
namespace {

using node::local::Answer;
using node::local::Request;

// A process that is a client until it is told to close its connection, and then to end.
class ClientProcess {
 public:
  // Forked at once: better before the node has threads.
  explicit ClientProcess(const std::string& path) {
    if (::pipe(told_) != 0 || ::pipe(done_) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ != 0) return;
    {
      Listen();
      RawClient client(path);
      client.Hello();
      client.Receive();
      Say();
      Listen();
    }
    Say();
    Listen();
    ::_exit(0);
  }
  ~ClientProcess() {
    for (const int end : {told_[0], told_[1], done_[0], done_[1]}) ::close(end);
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  // One step further: connected, closed.
  void Step() {
    char byte = 0;
    ASSERT_EQ(::write(told_[1], "x", 1), 1);
    ASSERT_EQ(::read(done_[0], &byte, 1), 1);
  }
  void End() {
    siginfo_t how{};
    ASSERT_EQ(::write(told_[1], "x", 1), 1);
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child_), &how, WEXITED | WNOWAIT), 0);
  }

 private:
  void Listen() {
    char byte = 0;
    if (::read(told_[0], &byte, 1) != 1) ::_exit(1);
  }
  void Say() {
    if (::write(done_[1], "x", 1) != 1) ::_exit(1);
  }

  int told_[2];
  int done_[2];
  pid_t child_ = 0;
};

std::string Object(const char* name) {
  const ObjectId id = ObjectId::FromName(name);
  return std::string(id.view());
}

TEST(LocalEndpointTest, SocketIsForTheUserOnlyAndGoesWithTheNode) {
  std::string path;
  {
    LocalNode node;
    path = node.path();
    struct stat found{};
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(LocalEndpointTest, LivingNodesSocketIsRefusedADeadOnesReplaced) {
  LocalNode living;
  asio::io_context loop;
  FakeOperations operations(loop, 1_MiB);
  node::LocalEndpoint second(operations);
  const auto refused = second.Listen(living.path());
  ASSERT_EQ(CodeOf(refused), ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, testing::HasSubstr(living.path()));

  const std::string stale = FreshSocketPath();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, stale.data(), stale.size());
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(dead);
  EXPECT_TRUE(second.Listen(stale));
  second.Stop();
  EXPECT_FALSE(std::filesystem::exists(stale));
}

TEST(LocalEndpointTest, OtherFilesAreLeftAlone) {
  const std::string path = FreshSocketPath();
  ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  asio::io_context loop;
  FakeOperations operations(loop, 1_MiB);
  node::LocalEndpoint endpoint(operations);
  EXPECT_EQ(CodeOf(endpoint.Listen(path)), ErrorCode::kUnavailable);
  EXPECT_TRUE(std::filesystem::remove(path));
  EXPECT_EQ(CodeOf(endpoint.Listen(std::string(200, 'x'))), ErrorCode::kInvalidArgument);
}

TEST(LocalEndpointTest, GarbageEndsItsOwnConnectionOnly) {
  LocalNode node;
  Client honest = node.Worker();
  const auto id = honest.Put("stays");
  const auto view = honest.Get(*id);
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100'000, '\xff'),
        std::string("\x05\0\0\0hello", 9), std::string("\0\0\0\0", 4)}) {
    RawClient raw(node.path());
    raw.SendBytes(garbage);
    EXPECT_FALSE(raw.LastWord().empty());
  }
  {
    RawClient half(node.path());
  }
  {
    RawClient half(node.path());
    half.SendBytes(std::string("\x05\0", 2));
  }
  EXPECT_EQ(view->view(), "stays");
  EXPECT_TRUE(honest.Put("more"));
}

TEST(LocalEndpointTest, LengthBeyondTheBoundIsRefusedByItsNumber) {
  LocalNode node;
  RawClient raw(node.path());
  raw.SendBytes("\xff\xff\xff\xff");
  EXPECT_THAT(raw.LastWord(), testing::HasSubstr("4294967295"));
}

TEST(LocalEndpointTest, HelloComesFirstOnceAndInTheRightVersion) {
  LocalNode node;
  RawClient early(node.path());
  Request status;
  status.set_id(1);
  status.mutable_status();
  early.Send(status);
  EXPECT_THAT(early.LastWord(), testing::HasSubstr("Hello"));

  RawClient other(node.path());
  other.Hello(999);
  EXPECT_THAT(other.LastWord(), testing::HasSubstr("999"));
  RawClient older(node.path());
  older.Hello(wire::kLocalProtocolVersion - 1);
  EXPECT_THAT(older.LastWord(),
              testing::HasSubstr("the client speaks local protocol " +
                                 std::to_string(wire::kLocalProtocolVersion - 1)));

  RawClient twice(node.path());
  twice.Hello();
  twice.Hello();
  EXPECT_THAT(twice.LastWord(), testing::HasSubstr("second Hello"));
}

TEST(LocalEndpointTest, OfTooManyThatSayNothingTheOldestGo) {
  LocalNode node;
  RawClient honest(node.path());
  honest.Hello();
  ASSERT_TRUE(honest.Receive()->has_attached());
  std::vector<std::unique_ptr<RawClient>> crowd;
  for (int i = 0; i < 258; ++i) crowd.push_back(std::make_unique<RawClient>(node.path()));
  EXPECT_THAT(crowd[0]->LastWord(), testing::HasSubstr("too many"));
  EXPECT_THAT(crowd[1]->LastWord(), testing::HasSubstr("too many"));
  crowd[2]->Hello();
  EXPECT_TRUE(crowd[2]->Receive()->has_attached());
  Request status;
  status.set_id(2);
  status.mutable_status();
  honest.Send(status);
  EXPECT_TRUE(honest.Receive()->has_status());
}

#if !__has_feature(undefined_behavior_sanitizer)  // its checks take descriptors of their own
// If the node can't watch the process, its views would end when it closes its socket.
TEST(LocalEndpointTest, AClientThatCannotBeWatchedForWantOfDescriptorsIsRefused) {
  LocalNode node;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // The lowest that are free: for the two ends of a connection, and nothing else.
  const int ends[] = {::dup(0), ::dup(0)};
  for (const int end : ends) ::close(end);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(ends[1]) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  RawClient refused(node.path());
  const auto answer = refused.Receive();
  ASSERT_TRUE(answer) << "it is told why";
  EXPECT_EQ(answer->error().code(), static_cast<std::uint32_t>(ErrorCode::kResourceExhausted));
  EXPECT_THAT(answer->error().message(), testing::HasSubstr("no descriptor is left"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  RawClient welcome(node.path());
  welcome.Hello();
  EXPECT_TRUE(welcome.Receive()->has_attached());
}
#endif

TEST(LocalEndpointTest, OneClientHasAsManyRequestsAndPinsAsItsNodeAllows) {
  LocalNode node(64_MiB, FreshSocketPath(), {.requests = 3, .pins = 2});
  Client greedy = node.Worker();
  Client other = node.Worker();
  const ObjectId id = *greedy.Put("pinned");
  auto first = greedy.Get(id);
  const auto second = greedy.Get(id);
  ASSERT_TRUE(first && second);
  const auto third = greedy.Get(id);
  ASSERT_EQ(CodeOf(third), ErrorCode::kResourceExhausted);
  EXPECT_THAT(third.error().message, testing::HasSubstr("2 pins"));
  EXPECT_TRUE(other.Get(id));
  first = Buffer();
  EXPECT_TRUE(greedy.Get(id));

  std::vector<Future<Buffer>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(other.GetAsync(ObjectId::Random()));
  const auto fourth = other.Get(id);
  ASSERT_EQ(CodeOf(fourth), ErrorCode::kResourceExhausted);
  EXPECT_THAT(fourth.error().message, testing::HasSubstr("3 requests"));
  const auto status = greedy.Status();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->clients.clients, 2u);
  EXPECT_EQ(status->clients.requests, 4u) << "this one, too";
  EXPECT_EQ(status->clients.most_requests, 3u);
  EXPECT_EQ(status->clients.pins, 1u);
  EXPECT_EQ(status->clients.requests_per_client, 3u);
  EXPECT_EQ(status->clients.pins_per_client, 2u);
  waiting.clear();
  EXPECT_TRUE(Eventually([&] { return other.Get(id).has_value(); }));
}

TEST(LocalEndpointTest, RequestIdsAreUsedOnce) {
  LocalNode node;
  RawClient raw(node.path());
  raw.Hello();
  Request get;
  get.set_id(2);
  get.mutable_get()->set_object(Object("absent"));
  raw.Send(get);
  raw.Send(get);
  EXPECT_THAT(raw.LastWord(), testing::HasSubstr("in use"));
}

TEST(LocalEndpointTest, BadIdsAndHandlesAreAnsweredWithErrors) {
  LocalNode node;
  RawClient raw(node.path());
  raw.Hello();
  ASSERT_TRUE(raw.Receive()->has_attached());
  const auto refused = [&](const Request& request) {
    raw.Send(request);
    const auto answer = raw.Receive();
    return answer && answer->id() == request.id() &&
           answer->error().code() == static_cast<std::uint32_t>(ErrorCode::kInvalidArgument);
  };
  Request request;
  request.set_id(2);
  request.mutable_get()->set_object("short");
  EXPECT_TRUE(refused(request));
  request.mutable_put()->set_object(std::string(20, '\0'));
  EXPECT_TRUE(refused(request));
  request.mutable_create()->set_object(Object("huge"));
  request.mutable_create()->set_size(std::uint64_t{1} << 63);
  EXPECT_TRUE(refused(request));
  request.mutable_seal()->set_draft(77);
  EXPECT_TRUE(refused(request));
  request.mutable_await()->set_reader(77);
  EXPECT_TRUE(refused(request));
  // Not answered, and nothing happens.
  request.mutable_advance()->set_draft(77);
  raw.Send(request);
  request.mutable_release()->set_made_by(77);
  raw.Send(request);
  request.mutable_cancel()->set_request(77);
  raw.Send(request);
  request.mutable_status();
  raw.Send(request);
  EXPECT_TRUE(raw.Receive()->has_status());
}

TEST(LocalEndpointTest, CancelGetsExactlyOneAnswer) {
  LocalNode node;
  RawClient raw(node.path());
  raw.Hello();
  ASSERT_TRUE(raw.Receive()->has_attached());
  Request get;
  get.set_id(2);
  get.mutable_get()->set_object(Object("absent"));
  Request cancel;
  cancel.mutable_cancel()->set_request(2);
  raw.Send(get);
  raw.Send(cancel);
  raw.Send(cancel);
  const auto answer = raw.Receive();
  EXPECT_EQ(answer->id(), 2u);
  EXPECT_EQ(answer->error().code(), static_cast<std::uint32_t>(ErrorCode::kCancelled));
  Request status;
  status.set_id(3);
  status.mutable_status();
  raw.Send(status);
  EXPECT_EQ(raw.Receive()->id(), 3u) << "no second answer to the cancelled one";
}

// A good request with one field spoiled, and what the error must name.
TEST(LocalEndpointTest, ReduceNamesWhatCannotBe) {
  LocalNode node;
  RawClient raw(node.path());
  raw.Hello();
  ASSERT_TRUE(raw.Receive()->has_attached());
  struct Case {
    const char* complaint;
    std::function<void(node::local::Reduce&)> spoil;
  };
  const std::vector<Case> cases = {
      {"id", [](auto& reduce) { reduce.clear_target(); }},
      {"all-zero", [](auto& reduce) { reduce.set_target(std::string(20, '\0')); }},
      {"0 is not the number of any op", [](auto& reduce) { reduce.clear_op(); }},
      {"200 is not the number of any op", [](auto& reduce) { reduce.set_op(200); }},
      {"257 is not the number of any op", [](auto& reduce) { reduce.set_op(257); }},
      {"200 is not the number of any dtype", [](auto& reduce) { reduce.set_dtype(200); }},
      {"267 is not the number of any dtype", [](auto& reduce) { reduce.set_dtype(267); }},
      {"source 2 of 2", [](auto& reduce) { reduce.add_sources("19 bytes, not twent"); }},
      {"source 2 of 2", [](auto& reduce) { reduce.add_sources(std::string(20, '\0')); }},
      {"16385 sources",
       [](auto& reduce) {
         while (reduce.sources_size() < 16385) reduce.add_sources(Object("many"));
       }},
      {"4097", [](auto& reduce) { reduce.set_metadata(std::string(4097, 'm')); }}};
  Request request;
  request.set_id(2);
  for (const auto& [complaint, spoil] : cases) {
    auto& reduce = *request.mutable_reduce();
    reduce.Clear();
    reduce.set_target(Object("target"));
    reduce.add_sources(Object("source"));
    reduce.set_op(static_cast<std::uint32_t>(Op::kSum));
    reduce.set_dtype(static_cast<std::uint32_t>(DType::kInt32));
    spoil(reduce);
    raw.Send(request);
    const auto answer = raw.Receive();
    ASSERT_TRUE(answer) << complaint;
    EXPECT_EQ(answer->error().code(), static_cast<std::uint32_t>(ErrorCode::kInvalidArgument));
    EXPECT_THAT(answer->error().message(), testing::HasSubstr(complaint));
  }
  EXPECT_EQ(node.waiting(), 0u);
}

TEST(LocalEndpointTest, AReductionEndsWithItsConnection) {
  LocalNode node;
  {
    RawClient raw(node.path());
    raw.Hello();
    ASSERT_TRUE(raw.Receive()->has_attached());
    Request request;
    request.set_id(2);
    request.mutable_reduce()->set_target(Object("target"));
    request.mutable_reduce()->add_sources(Object("absent"));
    request.mutable_reduce()->set_op(static_cast<std::uint32_t>(Op::kSum));
    request.mutable_reduce()->set_dtype(static_cast<std::uint32_t>(DType::kInt32));
    raw.Send(request);
    EXPECT_TRUE(Eventually([&] { return node.waiting() == 1; }));
  }
  EXPECT_TRUE(Eventually([&] { return node.waiting() == 0; }));
}

TEST(LocalEndpointTest, ReaderWaitsOnceAtATime) {
  LocalNode node;
  Client producer = node.InProcess();
  const Draft draft = producer.Create(ObjectId::FromName("slow"), 100).value();
  RawClient raw(node.path());
  raw.Hello();
  ASSERT_TRUE(raw.Receive()->has_attached());
  Request request;
  request.set_id(2);
  request.mutable_open()->set_object(Object("slow"));
  raw.Send(request);
  ASSERT_TRUE(raw.Receive()->has_view());
  request.mutable_await()->set_reader(2);
  request.mutable_await()->set_prefix(1);
  request.set_id(3);
  raw.Send(request);
  request.set_id(4);
  raw.Send(request);
  const auto answer = raw.Receive();
  EXPECT_EQ(answer->id(), 4u);
  EXPECT_TRUE(answer->has_error());
}

// The process lives on, so it may still look at what it was given.
TEST(LocalEndpointTest, PinsOfABrokenConnectionStayWhileItsProcessLives) {
  LocalNode node;
  Client client = node.InProcess();
  const auto id = client.Put(Pattern(1_MiB));
  RawClient raw(node.path());
  raw.Hello();
  ASSERT_TRUE(raw.Receive()->has_attached());
  Request get;
  get.set_id(2);
  get.mutable_get()->set_object(std::string(id->view()));
  raw.Send(get);
  ASSERT_TRUE(raw.Receive()->has_view());
  raw.SendBytes("\xff\xff\xff\xff");
  EXPECT_FALSE(raw.LastWord().empty());
  ASSERT_TRUE(client.Delete(*id));
  EXPECT_GE(node.used_bytes(), 1_MiB);
}

// All of this happens in one turn of the loop: the process that comes must not be taken for the one
// that ends.
TEST(LocalEndpointTest, WhoConnectsWhileAnotherProcessEndsIsServed) {
  const std::string path = FreshSocketPath();
  ClientProcess other(path);
  LocalNode node(1_MiB, path);
  other.Step();
  std::promise<void> held;
  std::promise<void> free;
  std::thread holder([&] {
    node.OnLoop([&] {
      held.set_value();
      free.get_future().wait();
    });
  });
  held.get_future().wait();
  other.Step();
  RawClient raw(path);
  other.End();
  free.set_value();
  holder.join();
  raw.Hello();
  const auto answer = raw.Receive();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->has_attached());
}

TEST(LocalEndpointTest, ClientThatReadsNoAnswersIsCutOff) {
  LocalNode node;
  Client client = node.InProcess();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client.Put("x", {.metadata = std::string(4096, 'm')}));
  RawClient raw(node.path());
  raw.Hello();
  Request status;
  status.mutable_status();
  std::string requests;
  for (std::uint64_t id = 2; id < 8000; ++id) {  // more than 64 MB of answers
    status.set_id(id);
    wire::AppendMessageFrame(status, requests);
  }
  raw.SendBytes(requests);
  EXPECT_TRUE(client.Put("others go on"));
  EXPECT_TRUE(Eventually([&] { return client.Status().value().clients.clients == 1; }));
  std::uint64_t received = 0;
  while (const auto answer = raw.Receive()) received += answer->ByteSizeLong();
  EXPECT_GT(received, 0u);
  EXPECT_LT(received, 48_MiB);
}

}  // namespace
}  // namespace hoplite::test
