// Nobody is taken for a member who has not proved it: each impostor in front of each role that connects
// or accepts, by a secret and by a certificate.
#include "impostor.h"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/file_descriptor.h"
#include "net/security.h"
#include "net/tcp_transport.h"
#include "net/tls_context.h"
#include "net/tls_socket.h"
#include "testing/run_task.h"
#include "testing/tls_folder.h"

namespace hoplite::net {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    member = FileDescriptor(ends[0]);
    impostor = FileDescriptor(ends[1]);
  }
  FileDescriptor member;
  FileDescriptor impostor;
};

// What the member says of the impostor; empty: it takes him for a member.
std::string Meet(TlsSocket& member, Impostor& impostor) {
  constexpr int kSteps = 20;  // a handshake has three
  for (int i = 0; i < kSteps; ++i) {
    impostor.Step();
    const Result<bool> done = member.Shake();
    if (!done) return done.error().message;
    if (*done) return "";
  }
  return "the handshake hangs";
}

struct Outcome {
  std::string member;    // what it says
  std::string impostor;  // what it says
  std::string heard;     // by the impostor
};

class ImpostorTest : public ::testing::Test {
 protected:
  static SecurityPtr Load(const SecurityConfig& config, TlsRole self) {
    auto loaded = Security::Load(config, self, "");
    EXPECT_TRUE(loaded) << loaded.error().ToString();
    return *loaded;
  }

  static Outcome Try(const ImpostorHas& has,
                     const std::function<std::unique_ptr<TlsSocket>(int)>& member,
                     bool impostor_accepts) {
    const Pair pair;
    Impostor impostor(has, pair.impostor.get(), impostor_accepts);
    const auto tls = member(pair.member.get());
    Outcome outcome{.member = Meet(*tls, impostor)};
    EXPECT_EQ(tls->established(), outcome.member.empty());
    const std::array<std::byte, 4> word{std::byte{'w'}, std::byte{'o'}, std::byte{'r'},
                                        std::byte{'d'}};
    if (tls->established()) tls->Send(word, {}, 0, word.size());
    for (int i = 0; i < 3; ++i) impostor.Step();
    outcome.impostor = impostor.why();
    outcome.heard = impostor.heard();
    return outcome;
  }

  // Each of them without the secret.
  std::vector<ImpostorHas> Impostors() const {
    const SecurityConfig foreign = elsewhere.Certificate("foreign", kNode);
    const SecurityConfig directory = elsewhere.Certificate("directory", kDirectory);
    return {
        {"a certificate", foreign},
        {"a directory's certificate", directory},
        {"a certificate, and asks for one", foreign, true},
        {"a wrong secret", {}, false, true},
        {"a wrong secret and a certificate", foreign, false, true},
        {"TLS 1.2 and a certificate", foreign, false, false, TLS1_2_VERSION},
        {"TLS 1.2 and a certificate, and asks for one", foreign, true, false, TLS1_2_VERSION},
        {"nothing", {}},
    };
  }

  test::TlsFolder folder;
  test::TlsFolder elsewhere;
};

TEST_F(ImpostorTest, WhoAnswersWithoutTheSecretIsRefusedByEveryoneWhoConnects) {
  const SecurityConfig secret = folder.Secret("secret", kSecret);
  for (const TlsRole self : {kNode, kDirectory}) {
    const SecurityPtr security = Load(secret, self);
    for (const TlsRole peer : {kNode, kDirectory}) {
      for (const ImpostorHas& has : Impostors()) {
        const Outcome outcome =
            Try(has, [&](int socket) { return security->Connect(socket, peer); }, true);
        EXPECT_NE(outcome.member, "") << has.what;
        EXPECT_EQ(outcome.heard, "") << has.what;
      }
    }
  }
}

TEST_F(ImpostorTest, WhoConnectsWithoutTheSecretIsRefusedByEveryoneWhoAccepts) {
  const SecurityConfig secret = folder.Secret("secret", kSecret);
  for (const TlsRole self : {kNode, kDirectory}) {
    const SecurityPtr security = Load(secret, self);
    for (const ImpostorHas& has : Impostors()) {
      const Outcome outcome = Try(has, [&](int socket) { return security->Accept(socket); }, false);
      EXPECT_NE(outcome.member, "") << has.what;
      EXPECT_EQ(outcome.heard, "") << has.what;
    }
  }
}

TEST_F(ImpostorTest, TheReasonIsSaidOnBothSides) {
  const SecurityPtr security = Load(folder.Secret("secret", kSecret), kNode);
  const auto connects = [&](int socket) { return security->Connect(socket, kDirectory); };
  const auto accepts = [&](int socket) { return security->Accept(socket); };
  const SecurityConfig foreign = elsewhere.Certificate("foreign", kNode);
  struct Case {
    ImpostorHas has;
    const char* connecting;  // what the member says that connects to this impostor
    const char* accepting;   // what the member says that the impostor connects to
  };
  const Case cases[] = {
      {{"a certificate", foreign},
       "whoever answers there does not know the secret: it shows a certificate instead",
       "it has no secret"},
      {{"a certificate, and asks for one", foreign, true},
       "whoever answers there does not know the secret: it shows a certificate instead",
       "it has no secret"},
      {{"a wrong secret", {}, false, true},
       "its secret is another one",
       "its secret is another one"},
      {{"TLS 1.2", foreign, false, false, TLS1_2_VERSION},
       "it refuses TLS 1.3",
       "it refuses TLS 1.3"},
  };
  for (const auto& [has, connecting, accepting] : cases) {
    EXPECT_THAT(Try(has, connects, true).member, HasSubstr(connecting)) << has.what;
    EXPECT_THAT(Try(has, accepts, false).member, HasSubstr(accepting)) << has.what;
  }
  EXPECT_THAT(Try(cases[0].has, connects, true).impostor,
              HasSubstr("it wants a secret and this member has a certificate"));
}

// Whatever the library's settings let pass: here they let everything pass.
TEST_F(ImpostorTest, SettingsThatLetEverybodyPassLetNobodyIn) {
  const auto secret = ReadSecret(folder.Secret("secret", kSecret).secret_file);
  ASSERT_TRUE(secret);
  const SecurityConfig own = folder.Certificate("own", kNode);
  const auto certificate = ReadCertificates(own, kNode, "");
  ASSERT_TRUE(certificate);
  const auto neither = std::make_shared<TlsContext>(NewContext(), "", std::nullopt);
  for (const TlsContextPtr& context : {*secret, *certificate, TlsContextPtr(neither)}) {
    SSL_CTX* ssl = context->ssl.get();
    SSL_CTX_set_verify(ssl, SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_cert_verify_callback(ssl, nullptr, nullptr);
    SSL_CTX_use_certificate_chain_file(ssl, own.tls_cert.c_str());
    SSL_CTX_use_PrivateKey_file(ssl, own.tls_key.c_str(), SSL_FILETYPE_PEM);
    for (const ImpostorHas& has : Impostors()) {
      for (const auto side : {TlsSocket::Side::kConnects, TlsSocket::Side::kAccepts}) {
        const auto member = [&](int socket) {
          return std::make_unique<TlsSocket>(context, socket, side, kNode);
        };
        const Outcome outcome = Try(has, member, side == TlsSocket::Side::kConnects);
        EXPECT_NE(outcome.member, "") << has.what;
        EXPECT_EQ(outcome.heard, "") << has.what;
      }
    }
  }
}

TEST_F(ImpostorTest, SettingsOfNoKindTakeNobody) {
  const auto neither = std::make_shared<TlsContext>(NewContext(), "", std::nullopt);
  for (const ImpostorHas& has : Impostors()) {
    const auto connects = [&](int socket) {
      return std::make_unique<TlsSocket>(neither, socket, TlsSocket::Side::kConnects, kNode);
    };
    EXPECT_NE(Try(has, connects, true).member, "") << has.what;
  }
}

// The same for certificates, which are of the wrong authority or of none.
TEST_F(ImpostorTest, WhoHasNoCertificateOfTheClusterIsRefusedByEveryone) {
  for (const TlsRole self : {kNode, kDirectory}) {
    const SecurityPtr security = Load(folder.Certificate(std::string(Name(self)), self), self);
    for (const ImpostorHas& has : Impostors()) {
      for (const TlsRole peer : {kNode, kDirectory}) {
        const auto connects = [&](int socket) { return security->Connect(socket, peer); };
        EXPECT_NE(Try(has, connects, true).member, "") << has.what;
      }
      const auto accepts = [&](int socket) { return security->Accept(socket); };
      EXPECT_NE(Try(has, accepts, false).member, "") << has.what;
    }
  }
}

TEST_F(ImpostorTest, ThePeerOfANodeIsNamedByItsAddress) {
  asio::io_context loop{1};
  asio::ip::tcp::acceptor door(loop, {asio::ip::make_address("127.0.0.1"), 0});
  const std::string address = "127.0.0.1:" + std::to_string(door.local_endpoint().port());
  TcpTransport node({&loop}, {.security = Load(folder.Secret("secret", kSecret), kNode)});
  test::Running<Result<StreamPtr>> dial(loop, node.Connect(address, 10s));
  asio::ip::tcp::socket socket(loop);
  bool accepted = false;
  door.async_accept(socket, [&](const asio::error_code&) { accepted = true; });
  ASSERT_TRUE(test::RunUntil(loop, [&] { return accepted; }));
  socket.native_non_blocking(true);
  Impostor impostor({"a certificate", elsewhere.Certificate("foreign", kNode)},
                    socket.native_handle(), true);
  EXPECT_TRUE(test::RunUntil(loop, [&] {
    impostor.Step();
    return dial.done();
  }));
  const Result<StreamPtr> outcome = dial.Finish();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, address +
                                         ": whoever answers there does not know the secret: it "
                                         "shows a certificate instead");
}

}  // namespace
}  // namespace hoplite::net
