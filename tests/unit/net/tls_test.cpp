// Who is taken and who is not, with the reason on both sides; files that change; ends that are none.
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/units.h"
#include "impostor.h"
#include "net/security.h"
#include "net/tcp_stream.h"
#include "net/tcp_transport.h"
#include "net/tls_socket.h"
#include "testing/run_task.h"
#include "testing/tls_folder.h"

namespace hoplite::net {
namespace {

using namespace std::chrono_literals;
using test::RunTask;
using test::RunUntil;
using test::TlsFolder;
using ::testing::HasSubstr;

std::string WhyNot(const SecurityConfig& config, TlsRole self = kNode,
                   std::optional<std::string> cluster = "") {
  const auto loaded = Security::Load(config, self, std::move(cluster));
  return loaded ? "" : loaded.error().ToString();
}

SecurityPtr Load(const SecurityConfig& config, std::optional<std::string> cluster = "") {
  auto loaded = Security::Load(config, kNode, std::move(cluster));
  EXPECT_TRUE(loaded) << loaded.error().ToString();
  return *loaded;
}

// What each side of a connection says, of which one is told of the other's reason.
struct Talk {
  std::string connecting;  // empty: it got the other side's word
  std::string accepting;
};

// Of somebody who has no transport.
class RawSocket {
 public:
  RawSocket(asio::io_context& loop, const std::string& address) : socket_(loop) {
    const auto colon = address.rfind(':');
    socket_.connect({asio::ip::make_address(address.substr(0, colon)),
                     static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)))});
    socket_.native_non_blocking(true);
  }
  int number() { return socket_.native_handle(); }
  void Close() { socket_.close(); }
  void Say(const std::string& bytes) {
    ASSERT_EQ(::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

 private:
  asio::ip::tcp::socket socket_;
};

class TlsTest : public ::testing::Test {
 protected:
  // A look is due a second after the last one.
  void WaitUntilFilesAreLookedAt() {
    RunUntil(loop, [until = std::chrono::steady_clock::now() + 1100ms] {
      return std::chrono::steady_clock::now() > until;
    });
  }
  void CopyTo(const char* name, const std::string& from) const {
    std::ifstream file(from);
    folder.Write(name, {std::istreambuf_iterator<char>(file), {}});
  }
  Talk Between(const SecurityPtr& connecting, const SecurityPtr& accepting) {
    std::vector<StreamPtr> accepted;
    TcpTransport server({&loop}, {.security = accepting});
    TcpTransport client({&loop}, {.security = connecting});
    const auto listener =
        server.Listen("127.0.0.1:0", [&](StreamPtr one) { accepted.push_back(std::move(one)); });
    EXPECT_TRUE(listener);
    test::Running<Result<StreamPtr>> dial(loop, client.Connect((*listener)->address(), 10s));
    EXPECT_TRUE(RunUntil(loop, [&] { return !accepted.empty(); }));
    test::Running<Result<void>> answer(loop, Say(accepted.front()));
    const Result<StreamPtr> near = dial.Finish();
    const Result<void> said = near ? RunTask(loop, Say(*near)) : std::unexpected(near.error());
    if (near) (*near)->Close();
    const Result<void> answered = answer.Finish();
    return {said ? "" : said.error().ToString(), answered ? "" : answered.error().ToString()};
  }

  // The same of a peer whose handshake ends before the other side has looked at its certificate.
  Talk FromCareless(const SecurityConfig& connecting, const SecurityPtr& accepting) {
    std::vector<StreamPtr> accepted;
    TcpTransport server({&loop}, {.security = accepting});
    const auto listener =
        server.Listen("127.0.0.1:0", [&](StreamPtr one) { accepted.push_back(std::move(one)); });
    RawSocket socket(loop, (*listener)->address());
    Impostor impostor({connecting.tls_cert, connecting}, socket.number(), false);
    const auto steps = [&](const auto& condition) {
      return RunUntil(loop, [&] {
        impostor.Step();
        return condition();
      });
    };
    EXPECT_TRUE(steps([&] { return impostor.shaken() && !accepted.empty(); }));
    const Result<void> answered = RunTask(loop, Say(accepted.front()));
    EXPECT_TRUE(steps([&] { return !impostor.why().empty(); }));
    return {impostor.why(), answered ? "" : answered.error().ToString()};
  }
  // A node's certificate with a hundred others behind it.
  SecurityConfig LongChain() const {
    SecurityConfig files = folder.Certificate("long", kNode);
    std::ifstream own(files.tls_cert);
    std::ifstream other(folder.Certificate("d", kDirectory).tls_cert);
    std::string chain{std::istreambuf_iterator<char>(own), {}};
    const std::string more{std::istreambuf_iterator<char>(other), {}};
    for (int i = 0; i < 100; ++i) chain += more;
    files.tls_cert = folder.Write("chain.pem", chain);
    return files;
  }

  // Says a word and hears one.
  static Task<Result<void>> Say(StreamPtr stream) {
    std::array<std::byte, 1000> word{};
    auto done = co_await stream->Send(word, Payload{});
    if (done) done = co_await ReceiveAll(stream, word);
    if (!done) stream->Close();
    co_return done;
  }

  asio::io_context loop{1};
  TlsFolder folder;
};

TEST_F(TlsTest, MembersOfAClusterKnowEachOther) {
  const auto one = Load(folder.Certificate("one", kNode));
  const auto two = Load(folder.Certificate("two", kNode));
  const Talk talk = Between(one, two);
  EXPECT_EQ(talk.connecting, "");
  EXPECT_EQ(talk.accepting, "");
}

TEST_F(TlsTest, ASecretIsEnough) {
  const auto one = Load(folder.Secret("one", kSecret));
  const auto two = Load(folder.Secret("two", std::string(kSecret) + "\n"));
  const Talk talk = Between(one, two);
  EXPECT_EQ(talk.connecting, "");
  EXPECT_EQ(talk.accepting, "");
}

// A member whose files have gone bad since it started, or that has a clock of its own.
TEST_F(TlsTest, CertificatesThatPeersDoNotTakeAreNamedOnBothSides) {
  const auto good = Load(folder.Certificate("good", kNode));
  SecurityConfig short_lived = folder.Certificate("short", kNode, "", {.ends = 2s});
  const auto expires = Load(short_lived);
  const auto blue = Load(folder.Certificate("blue", kNode, "blue"), "blue");
  const TlsFolder elsewhere;
  SecurityConfig foreign = elsewhere.Certificate("foreign", kNode);
  const auto stranger = Load(foreign);

  Talk talk = Between(blue, good);
  EXPECT_THAT(talk.connecting, HasSubstr("is of hoplite:///node, not of hoplite://blue/node"));
  talk = Between(stranger, good);
  EXPECT_THAT(talk.connecting, HasSubstr("its certificate is not of this cluster's authority"));
  EXPECT_THAT(talk.accepting, HasSubstr("of an authority that it does not know"));
  EXPECT_TRUE(RunUntil(loop, [&, until = std::chrono::steady_clock::now() + 3s] {
    return std::chrono::steady_clock::now() > until;
  }));
  talk = Between(good, expires);
  EXPECT_THAT(talk.connecting, HasSubstr("its certificate has expired"));
  EXPECT_THAT(talk.accepting, HasSubstr("it has expired, by the peer's clock"));
  talk = Between(expires, good);
  EXPECT_THAT(talk.accepting, HasSubstr("its certificate has expired"));
}

TEST_F(TlsTest, WhatIsWrongWithACertificateIsSaidOnBothSides) {
  const TlsFolder elsewhere;
  struct Case {
    SecurityConfig shown;
    const char* here;   // the words of who refuses it
    const char* there;  // of whom it is refused
  };
  const Case cases[] = {
      {folder.Certificate("old", kNode, "", {.begins = -3h, .ends = -1h}),
       "its certificate has expired", "it has expired, by the peer's clock"},
      {folder.Certificate("new", kNode, "", {.begins = 1h, .ends = 2h}),
       "its certificate is not valid yet", "not valid yet, by the peer's clock"},
      {folder.Certificate("blue", kNode, "blue"), "is of hoplite://blue/node, not of hoplite:///",
       "of another cluster or role"},
      {folder.Certificate("d", kDirectory), "is of hoplite:///directory, not of hoplite:///node",
       "of another cluster or role"},
      {elsewhere.Certificate("foreign", kNode), "is not of this cluster's authority",
       "of an authority that it does not know"},
      {{}, "it shows no certificate", "it wants a certificate"},
      {LongChain(), "it says more than a handshake has", ""},
  };
  for (const auto& [shown, here, there] : cases) {
    const Talk talk = FromCareless(shown, Load(folder.Certificate("good", kNode)));
    EXPECT_THAT(talk.accepting, HasSubstr(here)) << shown.tls_cert;
    EXPECT_THAT(talk.connecting, HasSubstr(there)) << shown.tls_cert;
  }
}

TEST_F(TlsTest, AMemberOfAnotherRoleIsNotTaken) {
  auto directory = Security::Load(folder.Certificate("d", kDirectory), kDirectory, "");
  ASSERT_TRUE(directory);
  const auto node = Load(folder.Certificate("n", kNode));
  EXPECT_THAT(Between(node, *directory).connecting,
              HasSubstr("is of hoplite:///directory, not of hoplite:///node"));
  EXPECT_THAT(Between(*directory, node).accepting,
              HasSubstr("is of hoplite:///directory, not of hoplite:///node"));
}

TEST_F(TlsTest, AnotherSecretIsNamedOnBothSides) {
  const auto one = Load(folder.Secret("one", kSecret));
  const auto two = Load(folder.Secret("two", "fedcba9876543210"));
  const Talk talk = Between(one, two);
  EXPECT_THAT(talk.connecting, HasSubstr("its secret is another one"));
  EXPECT_THAT(talk.accepting, HasSubstr("its secret is another one"));
}

TEST_F(TlsTest, ACertificateAndASecretDoNotMeet) {
  const auto secret = Load(folder.Secret("secret", kSecret));
  const auto certificate = Load(folder.Certificate("one", kNode));
  EXPECT_THAT(Between(secret, certificate).connecting, HasSubstr("secret"));
  EXPECT_THAT(Between(certificate, secret).connecting, HasSubstr("secret"));
}

TEST_F(TlsTest, PlainTextAndTlsSayWhatTheOtherIs) {
  const auto tls = Load(folder.Secret("secret", kSecret));
  const Talk talk = Between(nullptr, tls);
  EXPECT_THAT(talk.accepting, HasSubstr("it does not speak TLS"));
  EXPECT_THAT(Between(tls, nullptr).connecting, HasSubstr("it does not speak TLS"));
}

// --- files

TEST_F(TlsTest, NoFilesMeanNoTls) {
  const auto none = Security::Load({}, kNode, "");
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
}

TEST_F(TlsTest, CertificatesThatNobodyWouldTakeAreRefusedAtTheStart) {
  const SecurityConfig good = folder.Certificate("good", kNode);
  EXPECT_EQ(WhyNot(good), "");
  EXPECT_THAT(WhyNot(folder.Certificate("old", kNode, "", {.begins = -3h, .ends = -1h})),
              HasSubstr("old.pem has expired"));
  EXPECT_THAT(WhyNot(folder.Certificate("new", kNode, "", {.begins = 1h, .ends = 2h})),
              HasSubstr("new.pem is not valid yet"));
  EXPECT_THAT(WhyNot(folder.Certificate("d", kDirectory)),
              HasSubstr("d.pem: is of hoplite:///directory, this is hoplite:///node"));
  EXPECT_THAT(WhyNot(folder.Certificate("b", kNode, "a b"), kNode, "blue"),
              HasSubstr("is of hoplite://a%20b/node, this is hoplite://blue/node"));
  EXPECT_EQ(WhyNot(folder.Certificate("b", kNode, "a b"), kNode, std::nullopt), "");
  const TlsFolder elsewhere;
  SecurityConfig foreign = elsewhere.Certificate("foreign", kNode);
  foreign.tls_ca = good.tls_ca;
  EXPECT_THAT(WhyNot(foreign), HasSubstr("foreign.pem is not of this cluster's authority"));
}

TEST_F(TlsTest, FilesThatDoNotFitAreNamed) {
  const SecurityConfig good = folder.Certificate("good", kNode);
  const SecurityConfig other = folder.Certificate("other", kNode);
  SecurityConfig wrong = good;
  wrong.tls_key = other.tls_key;
  EXPECT_THAT(WhyNot(wrong), HasSubstr("other.key: is not that of certificate"));
  wrong.tls_key = "";
  EXPECT_THAT(WhyNot(wrong),
              HasSubstr("tls_key: tls_ca, tls_cert and tls_key are needed together"));
  wrong = good;
  wrong.secret_file = folder.In("secret");
  EXPECT_THAT(WhyNot(wrong), HasSubstr("give either it or certificates, not both"));
  wrong = good;
  wrong.tls_key = folder.In("none.key");
  EXPECT_THAT(WhyNot(wrong), HasSubstr("none.key: No such file"));
  wrong.tls_key = folder.Write("open.key", "x", 0604);
  EXPECT_THAT(WhyNot(wrong), HasSubstr("chmod 600"));
  wrong.tls_key = folder.Write("damaged.key", "-----BEGIN PRIVATE KEY-----\n");
  EXPECT_THAT(WhyNot(wrong), HasSubstr("damaged.key: holds no private key"));
  wrong = good;
  wrong.tls_cert = folder.Write("damaged.pem", "-----BEGIN CERTIFICATE-----\nMII");
  EXPECT_THAT(WhyNot(wrong), HasSubstr("damaged.pem: holds no whole certificate"));
  wrong.tls_cert = folder.In("");
  EXPECT_THAT(WhyNot(wrong), HasSubstr("is no regular file"));
  wrong.tls_cert = folder.Write("long.pem", std::string(65_KiB, 'x'));
  EXPECT_THAT(WhyNot(wrong), HasSubstr("larger than 64 KiB"));
}

TEST_F(TlsTest, SecretsThatAreNoneAreNamed) {
  EXPECT_THAT(WhyNot(folder.Secret("empty", "\n")), HasSubstr("empty: is empty"));
  EXPECT_THAT(WhyNot(folder.Secret("short", "0123456789abcde")), HasSubstr("has 15 bytes"));
  EXPECT_THAT(WhyNot(folder.Secret("open", kSecret, 0644)), HasSubstr("chmod 600"));
  EXPECT_THAT(WhyNot({.secret_file = folder.In("none")}), HasSubstr("none: No such file"));
}

// As Kubernetes mounts them.
TEST_F(TlsTest, OthersMayReadSecretsWhereTheOwnerSaysSoButNotWriteThem) {
  SecurityConfig secret = folder.Secret("mounted", kSecret, 0444);
  EXPECT_THAT(WhyNot(secret), HasSubstr("--readable-secrets"));
  secret.readable_secrets = true;
  EXPECT_EQ(WhyNot(secret), "");
  SecurityConfig files = folder.Certificate("mounted", kNode);
  ::chmod(files.tls_key.c_str(), 0444);
  EXPECT_THAT(WhyNot(files), HasSubstr("--readable-secrets"));
  files.readable_secrets = true;
  EXPECT_EQ(WhyNot(files), "");
  secret = folder.Secret("written", kSecret, 0646);
  secret.readable_secrets = true;
  EXPECT_THAT(WhyNot(secret), HasSubstr("may write it"));
}

TEST_F(TlsTest, ChangedFilesAreTakenOnceTheyFit) {
  const auto member = Load(folder.Certificate("one", kNode));
  TlsFolder elsewhere;
  const auto stranger = Load(elsewhere.Certificate("two", kNode));
  EXPECT_NE(Between(member, stranger).connecting, "");
  // The other authority's certificate comes before its key: the old pair serves on.
  const SecurityConfig fresh = elsewhere.Certificate("fresh", kNode);
  CopyTo("ca.pem", fresh.tls_ca);
  CopyTo("one.pem", fresh.tls_cert);
  WaitUntilFilesAreLookedAt();
  EXPECT_EQ(Between(member, member).connecting, "");
  EXPECT_NE(Between(member, stranger).connecting, "");
  CopyTo("one.key", fresh.tls_key);
  WaitUntilFilesAreLookedAt();
  EXPECT_EQ(Between(member, stranger).connecting, "");
}

TEST_F(TlsTest, RelativeFilesAreTheSameInAnotherFolder) {
  folder.Certificate("one", kNode);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.In(""));
  const auto member = Load({.tls_ca = "ca.pem", .tls_cert = "one.pem", .tls_key = "one.key"});
  std::filesystem::current_path(before);
  TlsFolder elsewhere;
  const SecurityConfig fresh = elsewhere.Certificate("fresh", kNode);
  CopyTo("ca.pem", fresh.tls_ca);
  CopyTo("one.pem", fresh.tls_cert);
  CopyTo("one.key", fresh.tls_key);
  WaitUntilFilesAreLookedAt();
  EXPECT_EQ(Between(member, Load(fresh)).connecting, "");
}

// --- what strangers and the network do

TEST_F(TlsTest, AStrangerMaySayNoMoreThanAHandshakeHas) {
  std::vector<StreamPtr> accepted;
  TcpTransport server({&loop}, {.security = Load(folder.Secret("secret", kSecret))});
  const auto listener =
      server.Listen("127.0.0.1:0", [&](StreamPtr one) { accepted.push_back(std::move(one)); });
  RawSocket stranger(loop, (*listener)->address());
  // A ClientHello that announces 128 KiB, in records of 16 KiB.
  std::string record("\x16\x03\x01\x40\x00", 5);
  std::string begins = record + std::string("\x01\x01\xff\xf0", 4) + std::string(16_KiB - 4, 'x');
  for (int i = 0; i < 6; ++i) begins += record + std::string(16_KiB, 'x');
  ASSERT_TRUE(RunUntil(loop, [&] { return !accepted.empty(); }));
  std::array<std::byte, 10> word{};
  test::Running<Result<std::size_t>> hears(loop, accepted.front()->ReceiveSome(word));
  stranger.Say(begins);
  const auto heard = hears.Finish();
  ASSERT_FALSE(heard);
  EXPECT_THAT(heard.error().message, HasSubstr("it says more than a handshake has"));
}

// It knows its own handshake to be over before the other side has looked at its certificate.
TEST_F(TlsTest, WhoIsRefusedHearsWhyAlsoIfItTalksOn) {
  std::vector<StreamPtr> accepted;
  TcpTransport server({&loop}, {.security = Load(folder.Certificate("node", kNode))});
  const auto listener =
      server.Listen("127.0.0.1:0", [&](StreamPtr one) { accepted.push_back(std::move(one)); });
  const auto other = Security::Load(folder.Certificate("d", kDirectory), kDirectory, "");
  RawSocket socket(loop, (*listener)->address());
  const auto tls = (*other)->Connect(socket.number(), kNode);
  ASSERT_TRUE(RunUntil(loop, [&] { return tls->Shake().value_or(false); }));
  std::array<std::byte, 30'000> word{};
  ASSERT_GT(tls->Send(word, {}, 0, word.size()), 0);
  ASSERT_TRUE(RunUntil(loop, [&] { return !accepted.empty(); }));
  EXPECT_FALSE(RunTask(loop, ReceiveAll(accepted.front(), word)));
  accepted.front()->Close();
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(tls->Send(word, {}, 0, 1000), 0) << tls->why();
    loop.poll();
  }
  EXPECT_TRUE(RunUntil(loop, [&] { return tls->Receive(word) < 0 && errno == EPROTO; }));
  EXPECT_THAT(tls->why(), HasSubstr("it refuses this member's certificate"));
}

TEST_F(TlsTest, AnEndWithoutALastWordIsAnError) {
  std::vector<StreamPtr> accepted;
  const auto security = Load(folder.Secret("secret", kSecret));
  TcpTransport server({&loop}, {.security = security});
  const auto listener =
      server.Listen("127.0.0.1:0", [&](StreamPtr one) { accepted.push_back(std::move(one)); });
  // A peer that knows the secret and whose network then fails.
  RawSocket socket(loop, (*listener)->address());
  const auto tls = security->Connect(socket.number(), kNode);
  ASSERT_TRUE(RunUntil(loop, [&] { return tls->Shake().value_or(false); }));
  std::array<std::byte, 10> word{};
  ASSERT_EQ(tls->Send(word, {}, 0, word.size()), 10);
  socket.Close();
  ASSERT_TRUE(RunUntil(loop, [&] { return !accepted.empty(); }));
  ASSERT_TRUE(RunTask(loop, ReceiveAll(accepted.front(), word)));
  const auto cut = RunTask(loop, ReceiveAll(accepted.front(), word));
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("cut off"));
}

TEST_F(TlsTest, AConnectionThatIsNeverIntroducedEndsInTime) {
  asio::ip::tcp::acceptor mute(loop, {asio::ip::make_address("127.0.0.1"), 0});
  TcpTransport client({&loop}, {.security = Load(folder.Secret("secret", kSecret))});
  const auto refused = RunTask(
      loop, client.Connect("127.0.0.1:" + std::to_string(mute.local_endpoint().port()), 300ms));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("did not finish the handshake of TLS in time"));
}

}  // namespace
}  // namespace hoplite::net
