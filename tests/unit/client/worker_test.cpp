// Workers that are processes of their own, and how they die.
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing/bytes.h"
#include "testing/local_node.h"

namespace hoplite::test {
namespace {

// A child process that connects to the node and then does as told. It is forked before the node has
// threads, and waits for a word.
class Worker {
 public:
  Worker(const std::string& path, std::function<int(Client&)> work) {
    if (::pipe(go_) != 0 || ::pipe(done_) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ != 0) return;
    char byte = 0;
    if (::read(go_[0], &byte, 1) != 1) ::_exit(99);
    auto client = Client::Connect(path);
    const int code = client ? work(*client) : 98;
    ::_exit(code == 0 && ::write(done_[1], "x", 1) == 1 ? Sleep() : code);
  }
  ~Worker() {
    Kill();
    for (const int end : {go_[0], go_[1], done_[0], done_[1]}) ::close(end);
  }

  void Go() { EXPECT_EQ(::write(go_[1], "x", 1), 1); }
  void AwaitWork() {
    ::close(std::exchange(done_[1], -1));
    char byte = 0;
    ASSERT_EQ(::read(done_[0], &byte, 1), 1) << "the worker ended early";
  }
  void Kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(std::exchange(child_, -1), nullptr, 0);
  }
  int Exit() {
    int status = 0;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  // Keeps what it holds until it is killed.
  static int Sleep() {
    for (;;) ::pause();
  }

  int go_[2];
  int done_[2];
  pid_t child_ = -1;
};

TEST(WorkerTest, DraftOfAKilledWorkerIsAborted) {
  const ObjectId id = ObjectId::FromName("half");
  const std::string path = FreshSocketPath();
  Worker worker(path, [&](Client& client) {
    static auto draft = client.Create(id, 8_MiB);  // static: it lives on after this
    return draft && draft->Advance(1_MiB) ? 0 : 1;
  });
  LocalNode node(64_MiB, path);
  worker.Go();
  worker.AwaitWork();
  Client client = node.Worker();
  const auto waiter = client.GetAsync(id);
  EXPECT_GE(node.used_bytes(), 8_MiB);
  worker.Kill();
  EXPECT_TRUE(Eventually([&] { return node.used_bytes() == 0; }));
  EXPECT_FALSE(waiter.ready()) << "a new Put may still come";
  ASSERT_TRUE(client.Put("again", {.id = id}));
  EXPECT_EQ(Text(waiter.Wait()), "again");
}

TEST(WorkerTest, PinsOfAKilledWorkerEnd) {
  const ObjectId id = ObjectId::FromName("pinned");
  const std::string path = FreshSocketPath();
  Worker worker(path, [&](Client& client) {
    static auto view = client.Get(id);
    return view ? 0 : 1;
  });
  LocalNode node(64_MiB, path);
  Client client = node.Worker();
  ASSERT_TRUE(client.Put(Pattern(2_MiB), {.id = id}));
  worker.Go();
  worker.AwaitWork();
  ASSERT_TRUE(client.Delete(id));
  EXPECT_GE(node.used_bytes(), 2_MiB);
  worker.Kill();
  EXPECT_TRUE(Eventually([&] { return node.used_bytes() == 0; }));
}

TEST(WorkerTest, FinishedPutsSurviveTheirWorker) {
  const ObjectId id = ObjectId::FromName("finished");
  const std::string path = FreshSocketPath();
  Worker worker(path,
                [&](Client& client) { return client.Put(Pattern(2_MiB), {.id = id}) ? 0 : 1; });
  LocalNode node(64_MiB, path);
  worker.Go();
  worker.AwaitWork();
  worker.Kill();
  EXPECT_TRUE(Equal(node.Worker().Get(id), Pattern(2_MiB)));
}

TEST(WorkerTest, WritingToAViewFaults) {
  const ObjectId id = ObjectId::FromName("read-only");
  const std::string path = FreshSocketPath();
  Worker worker(path, [&](Client& client) {
    const auto view = client.Get(id);
    auto* bytes = const_cast<std::byte*>(view->bytes().data());
    const auto page = reinterpret_cast<std::uintptr_t>(bytes) / 4096 * 4096;
    // The kernel refuses to make the mapping writable: it is of a read-only descriptor.
    if (::mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE) == 0) return 2;
    ::signal(SIGSEGV, [](int) { ::_exit(42); });  // also where a sanitizer has its own handler
    *static_cast<volatile std::byte*>(bytes) = std::byte{1};
    return 3;
  });
  LocalNode node(64_MiB, path);
  ASSERT_TRUE(node.Worker().Put("constant", {.id = id}));
  worker.Go();
  EXPECT_EQ(worker.Exit(), 42);
  EXPECT_EQ(Text(node.Worker().Get(id)), "constant");
}

// Lowers the limit of descriptors so that exactly `free` more can be opened.
[[maybe_unused]] void LeaveDescriptors(std::size_t free) {
  std::vector<int> numbers(free + 1);
  for (int& number : numbers) number = ::dup(0);
  for (const int number : numbers) ::close(number);
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  now.rlim_cur = static_cast<rlim_t>(numbers.back());
  ::setrlimit(RLIMIT_NOFILE, &now);
}

template <typename T>
bool NamesTheLimit(const Result<T>& result) {
  return !result && result.error().code == ErrorCode::kResourceExhausted &&
         result.error().message.contains("no free file descriptor (limit ");
}

#if !__has_feature(undefined_behavior_sanitizer)  // its checks take descriptors of their own
// The kernel drops the descriptor of the writable mapping: a draft would lie in read-only memory.
TEST(WorkerTest, WithoutAFreeDescriptorPutAndCreateAreErrorsAndWorkAgainWithOne) {
  const std::string path = FreshSocketPath();
  Worker worker(path, [&](Client& client) {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    LeaveDescriptors(0);
    if (!NamesTheLimit(client.Create(ObjectId::FromName("draft"), 1_MiB))) return 1;
    if (!NamesTheLimit(client.Put(Pattern(1_MiB), {.id = ObjectId::FromName("large")}))) return 2;
    if (!client.Put("small", {.id = ObjectId::FromName("small")})) return 3;
    ::setrlimit(RLIMIT_NOFILE, &before);
    if (!client.Put(Pattern(1_MiB), {.id = ObjectId::FromName("large")})) return 4;
    return client.Create(ObjectId::FromName("draft"), 1_MiB) ? 0 : 5;
  });
  LocalNode node(64_MiB, path);
  worker.Go();
  worker.AwaitWork();
  const auto stored =
      node.Worker().Get(ObjectId::FromName("large"), {.timeout = std::chrono::seconds(10)});
  ASSERT_TRUE(stored) << stored.error().ToString();
  EXPECT_TRUE(Equal(stored->bytes(), Pattern(1_MiB)));
}

TEST(WorkerTest, WithoutAFreeDescriptorConnectSaysWhatIsShort) {
  const std::string path = FreshSocketPath();
  Worker worker(path, [&](Client&) {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    LeaveDescriptors(0);  // no socket
    if (!NamesTheLimit(Client::Connect(path))) return 1;
    ::setrlimit(RLIMIT_NOFILE, &before);
    LeaveDescriptors(1);  // a socket, but no mapping
    if (!NamesTheLimit(Client::Connect(path))) return 2;
    ::setrlimit(RLIMIT_NOFILE, &before);
    return Client::Connect(path) ? 0 : 3;
  });
  LocalNode node(64_MiB, path);
  worker.Go();
  worker.AwaitWork();
}
#endif

#if !__has_feature(address_sanitizer)  // which needs address space itself
TEST(WorkerTest, WithoutAThreadConnectIsAnErrorAndWorksAgainWithOne) {
  const std::string path = FreshSocketPath();
  Worker worker(path, [&](Client&) {
    rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    const rlimit tight{.rlim_cur = 1, .rlim_max = before.rlim_max};
    ::setrlimit(RLIMIT_AS, &tight);  // no room for a stack
    const auto none = Client::Connect(path);
    ::setrlimit(RLIMIT_AS, &before);
    if (CodeOf(none) != ErrorCode::kResourceExhausted) return 1;
    return Client::Connect(path) ? 0 : 2;
  });
  LocalNode node(64_MiB, path);
  worker.Go();
  worker.AwaitWork();
}
#endif

// What a child of fork inherits is the parent's, and stays intact when the child goes.
TEST(WorkerTest, ForkedChildCannotUseOrHarmItsParentsClient) {
  LocalNode node;
  Client client = node.Worker();
  ASSERT_TRUE(client.Put("before"));
  const pid_t child = ::fork();
  if (child == 0) {
    const auto put = client.Put("in the child");
    client = Client(client);
    ::_exit(CodeOf(put) == ErrorCode::kUnavailable ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(client.Put("after"));
}

}  // namespace
}  // namespace hoplite::test
