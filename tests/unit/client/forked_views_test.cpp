// Forked children look at what their parent had: its node keeps that for them (docs/protocol.md,
// R60).
#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing/bytes.h"
#include "testing/local_node.h"

namespace hoplite::test {
namespace {

constexpr std::uint64_t kSize = 4_MiB;

// A word that one process gives another. Who waits for one that can't come any more gets false.
class Word {
 public:
  Word() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  ~Word() {
    for (const int end : ends_) ::close(end);
  }
  Word(const Word&) = delete;
  Word& operator=(const Word&) = delete;

  void Say() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  bool Wait() {
    ::close(std::exchange(ends_[1], -1));
    char byte = 0;
    return ::read(ends_[0], &byte, 1) == 1;
  }

 private:
  int ends_[2];
};

// A forked child, which works when it is told to; how that went is its exit status.
class Child {
 public:
  explicit Child(const std::function<int()>& work) : child_(::fork()) {
    if (child_ == 0) ::_exit(go_.Wait() ? work() : 99);
  }
  ~Child() { Kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Go() const { go_.Say(); }
  // 0: all was well; negative: the signal that ended it.
  int Work() {
    Go();
    int status = 0;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  void Kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(std::exchange(child_, -1), nullptr, 0);
  }

 private:
  Word go_;
  pid_t child_;
};

bool Unchanged(const Buffer& view) { return Equal(view.bytes(), Pattern(kSize)); }

// A node with one object, and a client that has a view of it. Clients of the node's own process use
// its mapping, workers have their own.
class ForkedViewsTest : public testing::TestWithParam<bool> {
 protected:
  // Nobody but a child wants the object any more, and others want memory. The call is answered after
  // the release of the view.
  void GiveBack() {
    view_ = Buffer();
    ASSERT_TRUE(client_.Delete(id_));
    ASSERT_TRUE(other_.Put(std::vector<std::byte>(kSize, std::byte{0xff})));
  }
  bool AllIsFree() {
    return Eventually([this] { return node_.used_bytes() == kSize; });
  }

  LocalNode node_{10_MiB};
  const ObjectId id_ = ObjectId::FromName("looked at");
  Client other_ = node_.Worker();
  Client client_ = GetParam() ? node_.InProcess() : node_.Worker();
  Buffer view_ = [this] {
    EXPECT_TRUE(other_.Put(Pattern(kSize), {.id = id_}));
    return client_.Get(id_).value_or(Buffer());
  }();
};

INSTANTIATE_TEST_SUITE_P(Clients, ForkedViewsTest, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "InProcess" : "Worker"; });

TEST_P(ForkedViewsTest, AChildReadsWhatItsParentGaveBack) {
  Child child([this] { return Unchanged(view_) ? 0 : 1; });
  GiveBack();
  EXPECT_EQ(node_.used_bytes(), 2 * kSize) << "the child's pin";
  EXPECT_EQ(child.Work(), 0);
  EXPECT_TRUE(AllIsFree());
}

TEST_P(ForkedViewsTest, EachChildKeepsWhatItsParentHadThen) {
  std::optional<Child> early(std::in_place, [this] { return Unchanged(view_) ? 0 : 1; });
  std::optional<Child> late(std::in_place, [this] { return Unchanged(view_) ? 0 : 1; });
  view_ = Buffer();
  ASSERT_TRUE(client_.Delete(id_));
  const Child without([] { return 0; });
  EXPECT_EQ(early->Work(), 0);
  EXPECT_EQ(node_.used_bytes(), kSize) << "the late one's";
  EXPECT_EQ(late->Work(), 0);
  EXPECT_TRUE(Eventually([this] { return node_.used_bytes() == 0; }));
}

TEST_P(ForkedViewsTest, AChildOfTheChildKeepsThemToo) {
  Word go;
  Word done;
  Child child([&] {
    if (::fork() == 0) {
      if (go.Wait() && Unchanged(view_)) done.Say();
      ::_exit(0);
    }
    return 0;
  });
  EXPECT_EQ(child.Work(), 0);
  GiveBack();
  EXPECT_EQ(node_.used_bytes(), 2 * kSize);
  go.Say();
  EXPECT_TRUE(done.Wait());
  EXPECT_TRUE(AllIsFree());
}

TEST_P(ForkedViewsTest, ThePinsEndWithExec) {
  const Child child([] { return ::execl("/bin/sleep", "sleep", "1000", nullptr); });
  GiveBack();
  EXPECT_EQ(node_.used_bytes(), 2 * kSize);
  child.Go();
  EXPECT_TRUE(AllIsFree());
}

TEST_P(ForkedViewsTest, ThePinsEndWhenTheChildDropsThem) {
  Word dropped;
  Child child([&]() -> int {
    view_ = Buffer();
    client_ = other_;  // the last handle of that connection
    dropped.Say();
    for (;;) ::pause();
  });
  GiveBack();
  EXPECT_EQ(node_.used_bytes(), 2 * kSize);
  child.Go();
  EXPECT_TRUE(dropped.Wait());
  EXPECT_TRUE(AllIsFree());
}

TEST_P(ForkedViewsTest, AClientOfTheChildIsItsOwn) {
  Child child([this] {
    if (CodeOf(client_.Get(id_)) != ErrorCode::kUnavailable) return 1;
    Client own = node_.Worker();
    const auto view = own.Get(id_);
    return view && Unchanged(*view) && Unchanged(view_) ? 0 : 2;
  });
  EXPECT_EQ(child.Work(), 0);
  EXPECT_TRUE(client_.Get(id_));
}

// Each has the pages that it has written to for itself.
TEST_P(ForkedViewsTest, PrivateMappingsAreTheChildsOwn) {
  PrivateBuffer mapped = *view_.MapPrivate();
  mapped.bytes()[0] = std::byte{42};
  Child child([&] {
    if (mapped.bytes()[0] != std::byte{42} || mapped.bytes()[1] != Pattern(2)[1]) return 1;
    mapped.bytes()[1] = std::byte{43};
    if (mapped.bytes().back() != Pattern(kSize).back()) return 2;
    auto another = view_.MapPrivate();
    if (!another || another->bytes()[1] != Pattern(2)[1]) return 3;
    mapped = PrivateBuffer();
    return Unchanged(view_) ? 0 : 4;
  });
  ASSERT_TRUE(client_.Delete(id_));
  EXPECT_EQ(child.Work(), 0);
  EXPECT_EQ(mapped.bytes()[1], Pattern(2)[1]);
}

// What could be written to is not there, and what is there can't be written to.
TEST_P(ForkedViewsTest, AChildCanWriteToNothingOfItsParents) {
  Draft draft = *client_.Create(ObjectId::Random(), 1_MiB);
  const auto start_of_page = [](const std::byte* at) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(at) / 4096 * 4096);
  };
  Child child([&] {
    void* const written = start_of_page(draft.data().data());
    if (!GetParam() && ::msync(written, 4096, MS_ASYNC) == 0) return 1;  // ENOMEM: not mapped
    for (void* page : {written, start_of_page(view_.bytes().data())}) {
      if (::mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0) return 2;
    }
    return Unchanged(view_) ? 0 : 3;
  });
  EXPECT_EQ(child.Work(), 0);
  EXPECT_TRUE(draft.Seal());
}

#if !__has_feature(undefined_behavior_sanitizer)  // its checks take descriptors of their own
// Leaves room for a child's word, and for no pipe. Then parent and child share the pipe that there
// is.
TEST_P(ForkedViewsTest, WithoutAFreeDescriptorThePinsStayUntilBothAreGone) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const std::array<int, 3> lowest{::dup(0), ::dup(0), ::dup(0)};
  for (const int number : lowest) ::close(number);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(lowest[2]);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  Child child([this] { return Unchanged(view_) ? 0 : 1; });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  GiveBack();
  EXPECT_EQ(child.Work(), 0);
  EXPECT_EQ(node_.used_bytes(), 2 * kSize) << "the parent holds the same pipe";
  client_ = other_;  // the last handle of that connection
  EXPECT_TRUE(AllIsFree());
}
#endif

// Threads of the parent get and release views all the time, and others want the memory.
TEST_P(ForkedViewsTest, WhatOtherThreadsHeldAtTheForkStays) {
  constexpr std::size_t kSmall = 256_KiB;
  struct Held {
    Buffer view;
    std::byte filled_with;
  };
  std::atomic<bool> stop{false};
  std::atomic<const Held*> held{nullptr};
  std::atomic<std::chrono::nanoseconds> fork_takes{
      std::chrono::nanoseconds(0)};  // long under a sanitizer
  std::thread user([&] {
    for (int i = 0; !stop; ++i) {
      const auto fill = static_cast<std::byte>(i);
      const ObjectId id = *other_.Put(std::vector<std::byte>(kSmall, fill));
      const Held now{.view = client_.Get(id).value_or(Buffer()), .filled_with = fill};
      EXPECT_TRUE(other_.Delete(id));
      held = &now;
      // Until some moment before, in or after the next fork.
      std::this_thread::sleep_for(fork_takes.load() * (i % 8) / 4);
      held = nullptr;
    }
  });
  const auto look = [&held] {
    const Held* seen = held;
    if (seen == nullptr) return 1;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    while (std::chrono::steady_clock::now() < end) {
      for (const std::byte byte : seen->view.bytes()) {
        if (byte != seen->filled_with) return 2;
      }
    }
    return seen->view.size() == kSmall ? 0 : 3;
  };
  for (int looked = 0; looked < 30;) {
    const auto begin = std::chrono::steady_clock::now();
    Child child(look);
    fork_takes = std::chrono::steady_clock::now() - begin;
    const int how = child.Work();
    if (how > 1 || how < 0) ADD_FAILURE() << "a child ended with " << how;
    if (how == 0) ++looked;
  }
  stop = true;
  user.join();
}

// Whether the node hears of the fork before it hears of the parent's death, or of both at once.
class DeadParentTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Nodes, DeadParentTest, testing::Bool(),
                         [](const auto& late) { return late.param ? "HearsLate" : "HearsAtOnce"; });

TEST_P(DeadParentTest, LeavesItsChildThePins) {
  const ObjectId id = ObjectId::FromName("looked at");
  const std::string path = FreshSocketPath();
  Word connect;
  Word viewed;
  Word fork;
  Word forked;
  Word look;
  Word right;
  const pid_t parent = ::fork();  // before the node has threads
  if (parent == 0) {
    if (!connect.Wait()) ::_exit(1);
    Client client = Client::Connect(path).value();
    const Buffer view = client.Get(id).value();
    const auto waits = client.GetAsync(ObjectId::Random());
    viewed.Say();
    if (!fork.Wait()) ::_exit(1);
    if (::fork() == 0) {
      if (look.Wait() && Unchanged(view)) right.Say();
      ::_exit(0);
    }
    forked.Say();
    for (;;) ::pause();
  }
  LocalNode node(10_MiB, path);
  Client other = node.Worker();
  ASSERT_TRUE(other.Put(Pattern(kSize), {.id = id}));
  connect.Say();
  ASSERT_TRUE(viewed.Wait());
  EXPECT_TRUE(Eventually([&] { return node.waiting() == 1; }));
  std::promise<void> held;
  std::promise<void> free;
  std::thread holder([&] {
    if (!GetParam()) return held.set_value();
    node.OnLoop([&] {
      held.set_value();
      free.get_future().wait();
    });
  });
  held.get_future().wait();
  fork.Say();
  EXPECT_TRUE(forked.Wait());
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  free.set_value();
  holder.join();
  EXPECT_TRUE(Eventually([&] { return node.waiting() == 0; })) << "its death is noticed";
  ASSERT_TRUE(other.Delete(id));
  ASSERT_TRUE(other.Put(std::vector<std::byte>(kSize, std::byte{0xff})));
  EXPECT_EQ(node.used_bytes(), 2 * kSize);
  look.Say();
  EXPECT_TRUE(right.Wait());
  EXPECT_TRUE(Eventually([&] { return node.used_bytes() == kSize; }));
}

}  // namespace
}  // namespace hoplite::test
