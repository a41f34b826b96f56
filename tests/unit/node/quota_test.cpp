// What one process may hold at its node.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing/bytes.h"
#include "testing/local_node.h"

namespace hoplite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr node::ClientLimits kThreeMiB{.quota = {.bytes = 3_MiB}};

std::string Bytes(std::uint64_t size) { return std::string(size, 'x'); }

template <typename T>
std::string Refusal(const Result<T>& result) {
  return result ? "" : result.error().ToString();
}

// A process that puts objects of 2 MiB at the node when it is told to, and lives on.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& path, const std::vector<ObjectId>& puts) {
    if (::pipe(told_.data()) != 0 || ::pipe(done_.data()) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ != 0) return;
    char byte = 0;
    if (::read(told_[0], &byte, 1) != 1) ::_exit(1);
    Client client = Client::Connect(path).value();
    for (const ObjectId& id : puts) byte = client.Put(Bytes(2_MiB), {.id = id}) ? 'y' : 'n';
    if (::write(done_[1], &byte, 1) != 1) ::_exit(1);
    ::pause();
  }
  ~OtherProcess() {
    End();
    for (const int end : {told_[0], told_[1], done_[0], done_[1]}) ::close(end);
  }
  bool Put() {
    char byte = 0;
    return ::write(told_[1], "x", 1) == 1 && ::read(done_[0], &byte, 1) == 1 && byte == 'y';
  }
  void End() {
    if (child_ == 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  std::array<int, 2> told_{};
  std::array<int, 2> done_{};
  pid_t child_ = 0;
};

TEST(QuotaTest, CountsWhatAProcessPutsOverAllItsClients) {
  LocalNode node(64_MiB, FreshSocketPath(), kThreeMiB);
  Client one = node.Worker();
  Client two = node.Worker();
  const ObjectId id = *one.Put(Bytes(2_MiB));
  EXPECT_THAT(Refusal(two.Put(Bytes(2_MiB))),
              AllOf(HasSubstr("resource_exhausted"), HasSubstr(std::to_string(::getpid())),
                    HasSubstr("holds 2.0 MiB in 1 objects, and 2.0 MiB more"),
                    HasSubstr("quota of 3.0 MiB"), HasSubstr("delete or disown")));
  EXPECT_TRUE(two.Put(Bytes(1_MiB))) << "just as much";
  const ClientsStatus shown = one.Status()->clients;
  EXPECT_EQ(shown.most_held_bytes, 3_MiB);
  EXPECT_EQ(shown.most_held_objects, 2u);
  EXPECT_EQ(shown.quota_bytes, 3_MiB);
  ASSERT_TRUE(one.Delete(id));
  EXPECT_TRUE(two.Put(Bytes(2_MiB)));
}

TEST(QuotaTest, CountsADraftFromItsBeginning) {
  LocalNode node(64_MiB, FreshSocketPath(), kThreeMiB);
  Client client = node.Worker();
  {
    const auto draft = client.Create(ObjectId::Random(), 2_MiB);
    ASSERT_TRUE(draft);
    EXPECT_EQ(CodeOf(client.Create(ObjectId::Random(), 2_MiB)), ErrorCode::kResourceExhausted);
  }
  EXPECT_TRUE(Eventually([&] { return client.Create(ObjectId::Random(), 2_MiB).has_value(); }));
}

TEST(QuotaTest, CountsWhatAProcessReadsOnceWhoeverPutIt) {
  const ObjectId first = ObjectId::FromName("first");
  const ObjectId second = ObjectId::FromName("second");
  const std::string path = FreshSocketPath();
  OtherProcess one(path, {first});
  OtherProcess two(path, {second});
  LocalNode node(64_MiB, path, kThreeMiB);
  ASSERT_TRUE(one.Put() && two.Put());
  Client client = node.Worker();
  auto view = client.Get(first);
  const auto again = client.Get(first);
  ASSERT_TRUE(view && again);
  EXPECT_THAT(Refusal(client.Get(second)), HasSubstr("2.0 MiB more are beyond its quota"));
  const std::array<ObjectId, 2> both{first, second};
  const auto many = client.GetMany(both);
  EXPECT_TRUE(many[0]);
  EXPECT_EQ(CodeOf(many[1]), ErrorCode::kResourceExhausted);
  EXPECT_EQ(CodeOf(client.Open(second)), ErrorCode::kResourceExhausted);
}

TEST(QuotaTest, EndsWithWhatIsReadOrDeletedNotWithAClose) {
  const ObjectId first = ObjectId::FromName("first");
  const ObjectId second = ObjectId::FromName("second");
  const std::string path = FreshSocketPath();
  OtherProcess other(path, {first});
  LocalNode node(64_MiB, path, kThreeMiB);
  ASSERT_TRUE(other.Put());
  std::optional<Client> client = node.Worker();
  const auto held = [&] { return client->Status()->clients.most_held_bytes; };
  {
    const auto view = client->Get(first);
    ASSERT_TRUE(view);
    EXPECT_EQ(held(), 2_MiB);
    other.End();
    ASSERT_TRUE(client->Delete(first));
    EXPECT_EQ(CodeOf(client->Put(Bytes(2_MiB))), ErrorCode::kResourceExhausted) << "it is read";
  }
  EXPECT_TRUE(Eventually([&] { return held() == 0; }));
  ASSERT_TRUE(client->Put(Bytes(2_MiB), {.id = second}));
  client.reset();
  const auto attached = [&] { return node.endpoint().clients().count(); };
  ASSERT_TRUE(Eventually([&] { return node.OnLoop(attached) == 0; }));
  Client next = node.Worker();
  EXPECT_EQ(next.Status()->clients.most_held_bytes, 2_MiB) << "this process lives";
  EXPECT_EQ(CodeOf(next.Put(Bytes(2_MiB))), ErrorCode::kResourceExhausted);
  EXPECT_TRUE(next.Get(second));
}

TEST(QuotaTest, EndsWithItsProcess) {
  const ObjectId left = ObjectId::FromName("left");
  const std::string path = FreshSocketPath();
  OtherProcess other(path, {left});
  LocalNode node(64_MiB, path, kThreeMiB);
  ASSERT_TRUE(other.Put());
  Client client = node.Worker();
  const auto held = [&] { return client.Status()->clients.most_held_bytes; };
  EXPECT_EQ(held(), 2_MiB);
  other.End();
  EXPECT_TRUE(Eventually([&] { return held() == 0; })) << "what was left counts for nobody";
  EXPECT_TRUE(client.Get(left));
}

TEST(QuotaTest, OfObjectsCountsSmallOnes) {
  LocalNode node(64_MiB, FreshSocketPath(), {.quota = {.objects = 2}});
  Client client = node.Worker();
  ASSERT_TRUE(client.Put("one"));
  const ObjectId id = *client.Put("two");
  EXPECT_THAT(Refusal(client.Put("three")), AllOf(HasSubstr("holds 2 objects, and its quota is 2"),
                                                  HasSubstr("--quota-objects")));
  EXPECT_TRUE(client.Get(id)) << "it holds that already";
  ASSERT_TRUE(client.Delete(id));
  EXPECT_TRUE(client.Put("three"));
}

}  // namespace
}  // namespace hoplite::test
