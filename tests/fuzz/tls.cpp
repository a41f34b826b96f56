#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>
#include <openssl/ssl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "fuzz/targets.h"
#include "net/tls_authority.h"
#include "net/tls_context.h"
#include "net/tls_socket.h"

namespace hoplite::fuzz {
namespace {

using net::TlsSocket;

// Of the library, for each of our sockets that has begun its handshake.
std::map<const TlsSocket*, SSL*>& Begun() {
  static std::map<const TlsSocket*, SSL*> begun;
  return begun;
}
net::TlsContextPtr Watched(Result<net::TlsContextPtr> context) {
  Require(context.has_value(), "these files are good");
  SSL_CTX_set_info_callback((*context)->ssl.get(), [](const SSL* ssl, int, int) {
    Begun()[&TlsSocket::Of(ssl)] = const_cast<SSL*>(ssl);
  });
  return *std::move(context);
}

// The path of a file that is open as long as the process runs.
std::string FileOf(const std::string& content) {
  const int file = ::memfd_create("hoplite", MFD_CLOEXEC);
  const auto size = static_cast<ssize_t>(content.size());
  Require(::write(file, content.data(), content.size()) == size && ::fchmod(file, 0600) == 0,
          "there is memory for a file");
  return "/proc/self/fd/" + std::to_string(file);
}
net::TlsContextPtr WithCertificate() {
  const auto authority = net::TlsAuthority::Make({.ends = std::chrono::hours(1000)});
  const net::TlsPair own =
      authority.Issue("", net::TlsRole::kNode, {.ends = std::chrono::hours(1000)});
  return Watched(net::ReadCertificates({.tls_ca = FileOf(authority.pair().certificate),
                                        .tls_cert = FileOf(own.certificate),
                                        .tls_key = FileOf(own.key)},
                                       net::TlsRole::kNode, ""));
}
net::TlsContextPtr WithSecret() { return Watched(net::ReadSecret(FileOf("0123456789abcdef"))); }

// What a side says, byte by byte.
std::string Words(std::size_t begin, std::size_t bytes) {
  std::string words(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) words[i] = static_cast<char>((begin + i) * 31 >> 3);
  return words;
}

struct Side {
  Side(net::TlsContextPtr context, TlsSocket::Side side) {
    std::array<int, 2> ends{};
    Require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0,
            "there are descriptors");
    near = FileDescriptor(ends[0]);
    far = FileDescriptor(ends[1]);
    tls = std::make_unique<TlsSocket>(std::move(context), near.get(), side, net::TlsRole::kNode);
  }
  ~Side() { Begun().erase(tls.get()); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  // What a stream and a session do whenever their socket is ready.
  void Go() {
    if (failed) return;
    if (!tls->established()) {
      failed = !tls->Shake();
    } else if (!tls->Flush() && errno != EAGAIN) {
      failed = true;
    } else if (!ended) {
      Hear();
    }
    Require(!failed || !tls->why().empty(), "who fails says why");
  }
  void Hear() {
    std::array<std::byte, 5000> room{};
    for (;;) {
      const ssize_t got = tls->Receive(room);
      if (got > 0) received.append(reinterpret_cast<const char*>(room.data()), got);
      if (got > 0) continue;
      ended = got == 0;
      failed = got < 0 && errno != EAGAIN;
      Require(!failed || errno == EPROTO, "what fails is the protocol");
      return;
    }
  }
  void Say(std::size_t bytes, std::size_t head) {
    if (!tls->established() || failed || goodbye) return;
    const std::string words = Words(sent, bytes);
    const auto all = std::as_bytes(std::span(words));
    net::Payload payload;
    payload.bytes = all.subspan(std::min(head, bytes));
    const ssize_t taken = tls->Send(all.first(std::min(head, bytes)), payload, 0, bytes);
    failed = taken < 0 && errno != EAGAIN;
    if (taken > 0) sent += static_cast<std::size_t>(taken);
  }
  void SayGoodbye() {
    tls->SayGoodbye();
    goodbye = true;
  }
  // Asks for new keys, often.
  void Update(int times) {
    const auto ssl = Begun().find(tls.get());
    if (!tls->established() || failed || goodbye || ssl == Begun().end()) return;
    for (int i = 0; i < times; ++i) {
      SSL_key_update(ssl->second, SSL_KEY_UPDATE_REQUESTED);
      Say(1, 0);
    }
  }

  FileDescriptor near;
  FileDescriptor far;
  std::unique_ptr<TlsSocket> tls;
  std::size_t sent = 0;
  std::string received;
  bool goodbye = false;
  bool failed = false;
  bool ended = false;
  std::string on_the_way;  // from this side
};

// Two members, and a network between them that delays, changes, repeats, adds and cuts.
class Conversation {
 public:
  Conversation(FuzzedDataProvider& data, const net::TlsContextPtr& context)
      : data_(data),
        one_(context, TlsSocket::Side::kConnects),
        other_(context, TlsSocket::Side::kAccepts) {}

  void Run() {
    constexpr int kMostSteps = 200;
    if (data_.ConsumeIntegralInRange<int>(0, 3) > 0) Settle(Number(8));
    for (int i = 0; i < kMostSteps && data_.remaining_bytes() > 0; ++i) {
      Something();
      Check();
    }
    Settle(kMostRounds);
    if (harmed_) return;
    for (const auto& [from, to] : {std::pair(&one_, &other_), std::pair(&other_, &one_)}) {
      if (to->goodbye) continue;  // it hears no more
      Require(!to->failed, "nothing fails on a network that harms nothing");
      Require(to->received.size() == from->sent, "and everything arrives");
    }
  }

 private:
  static constexpr int kMostRounds = 60;

  int Number(int most) { return data_.ConsumeIntegralInRange<int>(0, most); }

  void Something() {
    Side& side = Number(1) == 0 ? one_ : other_;
    switch (Number(11)) {
      case 0:
      case 1:
        return side.Go();
      case 2:
      case 3:
        return Carry(side, Peer(side), static_cast<std::size_t>(Number(3000)));
      case 4:
        return side.Say(static_cast<std::size_t>(Number(100)),
                        static_cast<std::size_t>(Number(50)));
      case 5:
        return side.Say(static_cast<std::size_t>(Number(100'000)), 20);
      case 6:
        return Harm(side);
      case 7:
        if (Number(3) == 0) side.SayGoodbye();
        return;
      case 8:
        return side.Update(Number(3) == 0 ? 300 : 1);
      case 9:
        if (Number(7) == 0) Cut(side);
        return;
      default:
        return Settle(Number(3));
    }
  }
  Side& Peer(const Side& side) { return &side == &one_ ? other_ : one_; }

  // Everybody has a few turns, and all arrives.
  void Settle(int rounds) {
    constexpr std::size_t kAll = 1 << 16;
    for (int i = 0; i < rounds; ++i) {
      for (Side* side : {&one_, &other_}) {
        side->Go();
        Carry(*side, Peer(*side), kAll);
      }
    }
  }

  void Carry(Side& from, Side& to, std::size_t most) {
    std::string bytes(most, '\0');
    const ssize_t got = ::recv(from.far.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) from.on_the_way.append(bytes, 0, static_cast<std::size_t>(got));
    const ssize_t put =
        ::send(to.far.get(), from.on_the_way.data(), from.on_the_way.size(), MSG_NOSIGNAL);
    if (put > 0) from.on_the_way.erase(0, static_cast<std::size_t>(put));
  }

  // To what is on the way from this side.
  void Harm(Side& side) {
    std::string bytes(4000, '\0');
    const ssize_t got = ::recv(side.far.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) side.on_the_way.append(bytes, 0, static_cast<std::size_t>(got));
    std::string& way = side.on_the_way;
    harmed_ = true;
    const auto at = static_cast<std::size_t>(Number(static_cast<int>(way.size())));
    switch (Number(5)) {
      case 0:
        if (at < way.size()) way[at] = static_cast<char>(way[at] ^ (1 << Number(7)));
        return;
      case 1:
        way.erase(at, static_cast<std::size_t>(Number(200)));
        return;
      case 2:
        way.insert(at, way.substr(0, static_cast<std::size_t>(Number(500))));
        return;
      case 3:
        way.insert(at, data_.ConsumeRandomLengthString(60));
        return;
      case 4:  // of a record, with any length
        way.insert(at,
                   std::string({static_cast<char>(20 + Number(4)), 3, 3,
                                static_cast<char>(Number(255)), static_cast<char>(Number(255))}));
        return;
      default:
        way.insert(at, std::string(static_cast<std::size_t>(Number(70'000)), '\x16'));
    }
  }
  void Cut(Side& side) {
    harmed_ = true;
    ::shutdown(side.far.get(), SHUT_RDWR);
  }

  void Check() {
    for (const auto& [from, to] : {std::pair(&one_, &other_), std::pair(&other_, &one_)}) {
      Require(to->received.size() <= from->sent && to->received == Words(0, to->received.size()),
              "what arrives was said, in its order");
      Require(!to->ended || (from->goodbye && to->received.size() == from->sent),
              "only a last word ends a conversation, and after all that was said");
    }
  }

  FuzzedDataProvider& data_;
  Side one_;
  Side other_;
  bool harmed_ = false;
};

}  // namespace

void Tls(Input input) {
  static const std::array contexts{WithCertificate(), WithSecret()};
  FuzzedDataProvider data(input.data(), input.size());
  const net::TlsContextPtr& context = contexts[data.ConsumeBool() ? 1 : 0];
  Conversation(data, context).Run();
}

}  // namespace hoplite::fuzz
