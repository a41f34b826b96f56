// Who may use the socket of a node.
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/accounts.h"
#include "node/local/local_endpoint.h"
#include "testing/local_node.h"
#include "testing/other_user.h"

namespace {

// Of the file at `watched` when a socket begins to listen: nobody can connect before.
std::string watched;  // NOLINT(runtime/string): set by one test
std::optional<struct stat> at_listen;

}  // namespace

// In place of the C library's.
extern "C" int listen(int socket, int backlog) {
  struct stat found{};
  if (!watched.empty() && ::lstat(watched.c_str(), &found) == 0) at_listen = found;
  return static_cast<int>(::syscall(SYS_listen, socket, backlog));
}

namespace hoplite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// In a folder that every user may enter, wherever temporary files of tests are.
class SocketGroup : public testing::Test {
 protected:
  SocketGroup() {
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no folder in /tmp");
    ::chmod(folder_.c_str(), 0755);
  }
  ~SocketGroup() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/node.sock"; }

  std::string folder_ = "/tmp/hoplite-test-XXXXXX";
};

Result<void> Listen(const std::string& path, const std::string& group) {
  asio::io_context loop;
  FakeOperations operations(loop, 1_MiB);
  node::LocalEndpoint endpoint(operations);
  return endpoint.Listen(path, group);
}

// What a user does who may use the node: puts an object in shared memory, and gets it.
std::string PutAndGet(const std::string& path) {
  auto client = Client::Connect(path);
  if (!client) return client.error().ToString();
  const auto id = client->Put(std::string(1 << 20, 'x'));
  if (!id) return id.error().ToString();
  return client->Get(*id) ? "done" : "it put what it can't get";
}

TEST_F(SocketGroup, IsOnTheFileBeforeAnybodyCanConnect) {
  const mode_t before = ::umask(0);
  watched = path();
  for (const std::string& group : {std::string(), std::to_string(::getegid())}) {
    at_listen.reset();
    ASSERT_TRUE(Listen(path(), group));
    ASSERT_TRUE(at_listen);
    EXPECT_EQ(at_listen->st_mode & 0777, group.empty() ? 0600u : 0660u);
    EXPECT_EQ(at_listen->st_gid, ::getegid());
  }
  watched.clear();
  ::umask(before);
}

TEST_F(SocketGroup, IsNamedIfThereIsNone) {
  const auto refused = Listen(path(), "no such group");
  ASSERT_EQ(CodeOf(refused), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr(path()), HasSubstr("'no such group'")));
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_EQ(FindGroup(GroupInWords(::getegid())), ::getegid());
}

TEST_F(SocketGroup, ANodeMustBeAMemberOfIt) {
  if (!OtherUser::possible()) GTEST_SKIP() << "only root can be another user";
  std::filesystem::permissions(folder_, std::filesystem::perms::all);
  OtherUser other({}, [this] {
    const auto refused = Listen(path(), "0");
    return refused ? "it may" : refused.error().ToString();
  });
  EXPECT_THAT(other.Do(), AllOf(HasSubstr("invalid_argument: local socket " + path()),
                                HasSubstr("user 54321 may not give it to the group root"),
                                HasSubstr("must be a member")));
  EXPECT_FALSE(std::filesystem::exists(path())) << "what it made is gone";
}

TEST_F(SocketGroup, ItsMembersUseTheNodeAndOthersAreToldWhoMay) {
  if (!OtherUser::possible()) GTEST_SKIP() << "only root can be another user";
  constexpr gid_t kShared = 54323;
  OtherUser member({kShared}, [this] { return PutAndGet(path()); });
  OtherUser stranger({}, [this] { return PutAndGet(path()); });
  const LocalNode node(64_MiB, path(), {.others_write = true}, std::to_string(kShared));
  EXPECT_EQ(member.Do(), "done");
  EXPECT_THAT(stranger.Do(),
              AllOf(HasSubstr("invalid_argument: no access to the node at " + path()),
                    HasSubstr("root and the members of group 54323 may use it"),
                    HasSubstr("this process runs as user 54321")));
}

TEST_F(SocketGroup, WithoutOneOnlyItsUserMayUseTheNode) {
  if (!OtherUser::possible()) GTEST_SKIP() << "only root can be another user";
  OtherUser stranger({}, [this] { return PutAndGet(path()); });
  const LocalNode node(64_MiB, path());
  EXPECT_THAT(stranger.Do(), AllOf(HasSubstr("only root may use it"), HasSubstr("user 54321"),
                                   HasSubstr("--socket-group")));
}

TEST_F(SocketGroup, AFolderThatIsClosedIsNamed) {
  if (!OtherUser::possible()) GTEST_SKIP() << "only root can be another user";
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
  OtherUser stranger({}, [this] { return PutAndGet(path()); });
  const LocalNode node(64_MiB, path(), {}, "0");
  EXPECT_THAT(stranger.Do(), HasSubstr("user 54321 may not enter " + folder_ + ":"));
}

}  // namespace
}  // namespace hoplite::test
