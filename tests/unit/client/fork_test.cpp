// What a forked child does with the things of its parent: it may look at views (more of that in
// forked_views_test.cpp) and destroy everything; else it is told at once that they are not its own.
// No threads were forked, and locks are as they were.
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hoplite/directory.h>
#include <hoplite/local_cluster.h>

namespace hoplite {
namespace {

using namespace std::chrono_literals;

// Runs `work` in a child and gives its result, 0 if all is well; -1 if the child hung and was
// killed.
int InChild(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  for (int waited = 0; waited < 2000; ++waited) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    std::this_thread::sleep_for(5ms);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return -1;
}

template <typename T>
bool NamesTheFork(const Result<T>& result) {
  return !result && result.error().code == ErrorCode::kUnavailable &&
         result.error().message.find("forked") != std::string::npos;
}

class ForkTest : public testing::Test {
 protected:
  std::unique_ptr<LocalCluster> cluster_ = *LocalCluster::Start({.nodes = 1});
  Client client_ = cluster_->client(0);
};

TEST_F(ForkTest, TheChildMayDestroyACluster) {
  EXPECT_EQ(InChild([this] {
              cluster_->Stop();
              cluster_.reset();
              return 0;
            }),
            0);
  EXPECT_TRUE(client_.Put("the parent's goes on"));
}

TEST_F(ForkTest, TheChildMayDestroyANodeAndADirectory) {
  auto directory = *Directory::Start({});
  auto node = *Node::Start({.directory = {directory->address()}, .memory_bytes = 16 << 20});
  EXPECT_EQ(InChild([&] {
              const std::optional<Error> refusal = node->refusal();
              if (!refusal || refusal->code != ErrorCode::kUnavailable) return 1;
              if (!NamesTheFork(node->client().Put("x"))) return 2;
              node->Stop();
              node.reset();
              directory->Stop();
              directory.reset();
              return 0;
            }),
            0);
  EXPECT_TRUE(node->client().Put("the parent's goes on", {.timeout = 20s}));
}

// Another thread of the parent waits for the same answer, and its locks and waits are forked, too.
TEST_F(ForkTest, WaitingInTheChildForWhatTheParentAskedIsAnError) {
  const ObjectId id = ObjectId::Random();
  const Future<Buffer> future = client_.GetAsync(id);
  Subscription subscription = *client_.Subscribe(id);
  std::thread waiting([&] { EXPECT_TRUE(future.Wait(20s)); });
  std::thread listening([&] { EXPECT_TRUE(subscription.Next(20s)); });
  EXPECT_EQ(InChild([&] {
              if (!future.ready() || !NamesTheFork(future.Wait())) return 1;
              if (!WaitAny({future})) return 2;
              bool called = false;
              future.OnReady([&] { called = true; });
              if (!called) return 6;
              if (!NamesTheFork(subscription.Next())) return 3;
              if (!NamesTheFork(client_.Get(id)) || !NamesTheFork(client_.Subscribe(id))) return 4;
              if (!NamesTheFork(client_.Create(id, 100'000))) return 5;
              client_.Close();
              const Future<Buffer> gone = std::move(const_cast<Future<Buffer>&>(future));
              const Subscription ended = std::move(subscription);
              return 0;
            }),
            0);
  EXPECT_TRUE(client_.Put("here it is", {.id = id, .timeout = 20s}));
  waiting.join();
  listening.join();
}

// The memory of a node in this process is not inherited, and yet there to be read.
TEST_F(ForkTest, TheChildReadsViewsOfItsParents) {
  const Buffer view = *client_.Get(*client_.Put("bytes"));
  PrivateBuffer mapped = *view.MapPrivate();
  EXPECT_EQ(InChild([&] {
              if (view.view() != "bytes" || mapped.bytes()[0] != std::byte{'b'}) return 1;
              mapped.bytes()[0] = std::byte{'B'};
              const auto own = view.MapPrivate();
              if (own->bytes()[0] != std::byte{'b'}) return 2;
              mapped = PrivateBuffer();
              return view.view() == "bytes" ? 0 : 3;
            }),
            0);
  EXPECT_EQ(mapped.bytes()[0], std::byte{'b'});
}

TEST_F(ForkTest, ADraftAndAReductionAreTheParents) {
  Draft draft = *client_.Create(ObjectId::Random(), 100'000);
  Reduction reduction = *client_.Reduce(
      {.sources = {ObjectId::Random()}, .op = Op::kSum, .dtype = DType::kInt32, .timeout = 20s});
  EXPECT_EQ(InChild([&] {
              if (!NamesTheFork(draft.Advance(1)) || !NamesTheFork(draft.Seal())) return 1;
              if (!reduction.ready() || !NamesTheFork(reduction.Wait())) return 2;
              reduction.Cancel();
              const Draft gone = std::move(draft);
              const Reduction ended = std::move(reduction);
              return 0;
            }),
            0);
  EXPECT_TRUE(draft.Seal(20s));
}

}  // namespace
}  // namespace hoplite
