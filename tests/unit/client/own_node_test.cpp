// Whose node is taken at a path that nobody named.
#include <array>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "client/client_access.h"
#include "testing/local_node.h"
#include "testing/other_user.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

// In a folder that every user may enter, wherever temporary files of tests are.
class OwnNode : public testing::Test {
 protected:
  OwnNode() {
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no folder in /tmp");
    ::chmod(folder_.c_str(), 0755);
  }
  ~OwnNode() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/node.sock"; }

  std::string folder_ = "/tmp/hoplite-test-XXXXXX";
};

// A socket at which another user listens.
class Squatter {
 public:
  explicit Squatter(const std::string& path)
      : door_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), user_({}, [this] {
          return std::string(::listen(door_.get(), 1) == 0 ? "listens" : "does not listen");
        }) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(door_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(user_.Do(), "listens");
  }
  // The first bytes of the next one who connects; empty: it says nothing and goes.
  std::size_t Hear() const {
    const FileDescriptor visitor(::accept(door_.get(), nullptr, nullptr));
    std::array<char, 100> said{};
    const ssize_t got = ::recv(visitor.get(), said.data(), said.size(), 0);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }

 private:
  FileDescriptor door_;
  OtherUser user_;
};

std::string PutAndGet(Result<Client> client) {
  if (!client) return client.error().ToString();
  const auto id = client->Put(std::string(1 << 20, 'x'));
  if (!id) return id.error().ToString();
  return client->Get(*id) ? "done" : "it put what it can't get";
}

TEST_F(OwnNode, IsTaken) {
  const LocalNode node(64_MiB, path());
  EXPECT_EQ(PutAndGet(ClientAccess::ConnectToOwn(path(), 5s)), "done");
}

TEST_F(OwnNode, NoNodeIsUnavailable) {
  EXPECT_EQ(CodeOf(ClientAccess::ConnectToOwn(path(), 5s)), ErrorCode::kUnavailable);
}

TEST_F(OwnNode, AnotherUsersIsRefusedBeforeAnythingIsSaid) {
  if (!OtherUser::possible()) GTEST_SKIP() << "only root can be another user";
  const Squatter squatter(path());
  const auto refused = ClientAccess::ConnectToOwn(path(), 5s);
  ASSERT_EQ(CodeOf(refused), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("no access to the node at " + path()),
                    HasSubstr("it is of user 54321, and this process runs as root"),
                    HasSubstr("give --socket or HOPLITE_SOCKET")));
  EXPECT_EQ(squatter.Hear(), 0u);
  EXPECT_EQ(CodeOf(Client::Connect(path(), 200ms)), ErrorCode::kTimeout) << "it was named";
  EXPECT_GT(squatter.Hear(), 0u);
}

TEST_F(OwnNode, AnotherUsersIsRefusedAlsoWhenAClientAttachesAnew) {
  if (!OtherUser::possible()) GTEST_SKIP() << "only root can be another user";
  LocalNode node(64_MiB, path());
  auto client = ClientAccess::ConnectToOwn(path(), 5s);
  ASSERT_TRUE(client);
  node.Stop();
  const Squatter squatter(path());
  EXPECT_TRUE(Eventually([&] {
    const auto refused = client->Put("secret");
    return !refused && refused.error().message.contains("it is of user 54321");
  }));
  EXPECT_EQ(squatter.Hear(), 0u);
}

TEST_F(OwnNode, RootsIsTakenByEveryUserWhoMayConnect) {
  if (!OtherUser::possible()) GTEST_SKIP() << "only root can be another user";
  constexpr gid_t kShared = 54323;
  OtherUser member({kShared}, [this] { return PutAndGet(ClientAccess::ConnectToOwn(path(), 5s)); });
  const LocalNode node(64_MiB, path(), {.others_write = true}, std::to_string(kShared));
  EXPECT_EQ(member.Do(), "done");
}

}  // namespace
}  // namespace hoplite::test
