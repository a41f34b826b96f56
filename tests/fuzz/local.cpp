#include <array>
#include <map>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/reduce_types.h"
#include "base/units.h"
#include "fuzz/targets.h"
#include "node/local/local_endpoint.h"
#include "store/segment.h"
#include "testing/fake_operations.h"
#include "wire/local_protocol.h"
#include "wire/message_frames.h"

namespace hoplite::fuzz {
namespace {

using node::local::Answer;
using node::local::Request;

// The client's end: says what the bytes say, sends messages that belong together at once, and hears
// everything.
class Client {
 public:
  explicit Client(int socket) : socket_(socket) {}
  ~Client() { Close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Ask(const Request& request) {
    wire::AppendMessageFrame(request, unsaid_);
    ++asked_[request.id()];
  }
  void Hear() {
    for (bool more = socket_ >= 0; more;) {
      const ssize_t got = ::recv(socket_, room_.data(), room_.size(), MSG_DONTWAIT);
      if (got <= 0) break;
      frames_.Received({room_.data(), static_cast<std::size_t>(got)});
      more = static_cast<std::size_t>(got) == room_.size();
      for (;;) {
        const auto message = frames_.Next();
        Require(message.has_value(), "answers are framed");
        if (!*message) break;
        Answer answer;
        Require(answer.ParseFromArray((*message)->data(), static_cast<int>((*message)->size())),
                "answers are answers");
        const bool news = answer.has_location() || answer.has_draft_failed() || answer.id() == 0;
        if (!news && framed_only_)
          Require(asked_[answer.id()]-- > 0, "each request has one answer");
      }
      frames_.Keep();
    }
  }
  void AddAnything(const std::string& bytes) {
    framed_only_ = false;
    unsaid_ += bytes;
  }
  // Bytes that find no room in the socket are not sent.
  void Say() {
    if (socket_ >= 0 && !unsaid_.empty())
      (void)::send(socket_, unsaid_.data(), unsaid_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    unsaid_.clear();
  }
  void Close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
  bool framed_only_ = true;
  std::string unsaid_;
  std::array<char, wire::kReadBytes> room_{};
  wire::MessageFrames frames_{wire::kMaxLocalAnswer};
  std::map<std::uint64_t, int> asked_;
};

std::string ObjectOf(FuzzedDataProvider& data) {
  const auto which = data.ConsumeIntegralInRange<int>(0, 31);
  if (which == 31) return data.ConsumeRandomLengthString(21);
  const ObjectId id = ObjectId::FromName(std::to_string(which % 4));
  return std::string(id.view());
}

std::uint64_t SizeOf(FuzzedDataProvider& data) {
  return data.ConsumeIntegralInRange<int>(0, 15) == 15 ? data.ConsumeIntegral<std::uint64_t>()
                                                       : data.ConsumeIntegral<std::uint8_t>();
}

void FillReduce(FuzzedDataProvider& data, node::local::Reduce& body) {
  static const auto beyond_ops = static_cast<std::uint32_t>(AllOps().size() + 1);
  static const auto beyond_dtypes = static_cast<std::uint32_t>(AllDTypes().size() + 1);
  body.set_target(ObjectOf(data));
  for (int i = data.ConsumeIntegralInRange<int>(0, 3); i > 0; --i) body.add_sources(ObjectOf(data));
  body.set_op(data.ConsumeIntegralInRange<std::uint32_t>(0, beyond_ops));
  body.set_dtype(data.ConsumeIntegralInRange<std::uint32_t>(0, beyond_dtypes));
  if (data.ConsumeBool()) body.set_num_objects(data.ConsumeIntegralInRange<int>(0, 4));
  body.set_root_here(data.ConsumeBool());
  body.set_fixed_order(data.ConsumeBool());
  body.set_degree(data.ConsumeIntegral<std::uint8_t>());
  body.set_everyone_reads(data.ConsumeBool());
  body.set_owned(data.ConsumeBool());
  if (data.ConsumeBool()) body.set_folded_bytes(data.ConsumeIntegral<std::uint8_t>());
}

std::string ObjectsOf(FuzzedDataProvider& data) {
  std::string ids;
  for (int i = data.ConsumeIntegralInRange<int>(0, 3); i > 0; --i) ids += ObjectOf(data);
  return ids;
}

void AskOfARegister(FuzzedDataProvider& data, std::uint64_t handle, Request& request) {
  const auto number = [&data](node::local::RegisterNumber& to) {
    to.set_incarnation(data.ConsumeIntegralInRange<std::uint64_t>(0, 1));
    to.set_sequence(data.ConsumeIntegralInRange<std::uint64_t>(0, 3));
  };
  switch (data.ConsumeIntegralInRange<int>(0, 3)) {
    case 0:
      request.mutable_open_register()->set_name(data.ConsumeRandomLengthString(2));
      break;
    case 1:
      request.mutable_read_register()->set_open(handle);
      break;
    case 2:
      request.mutable_write_register()->set_open(handle);
      number(*request.mutable_write_register()->mutable_expected());
      request.mutable_write_register()->set_value(data.ConsumeRandomLengthString(4));
      break;
    default:
      request.mutable_await_register()->set_open(handle);
      number(*request.mutable_await_register()->mutable_after());
      break;
  }
}

Request RequestOf(FuzzedDataProvider& data) {
  const auto handle = [&data] { return data.ConsumeIntegralInRange<std::uint64_t>(0, 12); };
  Request request;
  request.set_id(handle());
  switch (data.ConsumeIntegralInRange<int>(0, 21)) {
    case 0:
      request.mutable_hello()->set_protocol_version(data.ConsumeIntegralInRange<int>(0, 3));
      break;
    case 1:
      request.mutable_put()->set_object(ObjectOf(data));
      request.mutable_put()->set_contents(data.ConsumeRandomLengthString(40));
      request.mutable_put()->set_metadata(data.ConsumeRandomLengthString(4));
      request.mutable_put()->set_owned(data.ConsumeBool());
      request.mutable_put()->set_only_if_owned(data.ConsumeBool());
      break;
    case 2:
      request.mutable_create()->set_object(ObjectOf(data));
      request.mutable_create()->set_size(SizeOf(data));
      request.mutable_create()->set_owned(data.ConsumeBool());
      break;
    case 3:
      request.mutable_seal()->set_draft(handle());
      break;
    case 4:
      request.mutable_get()->set_object(ObjectOf(data));
      request.mutable_get()->set_only_if_owned(data.ConsumeBool());
      break;
    case 5:
      request.mutable_open()->set_object(ObjectOf(data));
      request.mutable_open()->set_window(data.ConsumeBool());
      request.mutable_open()->set_only_if_owned(data.ConsumeBool());
      break;
    case 6:
      request.mutable_await()->set_reader(handle());
      request.mutable_await()->set_prefix(SizeOf(data));
      if (data.ConsumeBool()) request.mutable_await()->set_taken(SizeOf(data));
      break;
    case 7:
      request.mutable_delete_object()->set_objects(ObjectsOf(data));
      break;
    case 8:
      request.mutable_info()->set_objects(ObjectsOf(data));
      break;
    case 9:
      request.mutable_subscribe()->set_object(ObjectOf(data));
      break;
    case 10:
      request.mutable_status();
      break;
    case 11:
      FillReduce(data, *request.mutable_reduce());
      break;
    case 12:
      request.mutable_advance()->set_draft(handle());
      request.mutable_advance()->set_prefix(SizeOf(data));
      break;
    case 13:
      request.mutable_cancel()->set_request(handle());
      break;
    case 14:
      for (int i = data.ConsumeIntegralInRange<int>(0, 3); i > 0; --i) {
        request.mutable_wait_exists()->add_objects(ObjectOf(data));
      }
      request.mutable_wait_exists()->set_count(data.ConsumeIntegralInRange<std::uint32_t>(0, 4));
      request.mutable_wait_exists()->set_only_if_owned(data.ConsumeBool());
      if (data.ConsumeIntegralInRange<int>(0, 3) == 3) {
        request.mutable_wait_gone()->set_objects(ObjectOf(data));
        request.mutable_wait_gone()->set_only_if_owned(data.ConsumeBool());
      }
      break;
    case 15:
      if (data.ConsumeBool()) {
        request.mutable_identify();
      } else {
        AskOfARegister(data, handle(), request);
      }
      break;
    case 16:
      request.mutable_forked()->set_pipe(data.ConsumeBool());
      break;
    case 17:
      request.mutable_own()->set_objects(ObjectsOf(data));
      break;
    case 18:
      request.mutable_disown()->set_objects(ObjectsOf(data));
      break;
    case 19:
      request.mutable_leave();
      break;
    case 20:
      request.mutable_get_many()->set_objects(ObjectsOf(data));
      request.mutable_get_many()->set_together(data.ConsumeIntegralInRange<std::uint64_t>(0, 2));
      request.mutable_get_many()->set_only_if_owned(data.ConsumeBool());
      request.mutable_get_many()->set_of(data.ConsumeIntegralInRange<std::uint64_t>(0, 4));
      break;
    default:
      request.mutable_release()->set_made_by(handle());
      request.mutable_release()->set_count(data.ConsumeIntegralInRange<std::uint32_t>(0, 4));
      break;
  }
  if (data.ConsumeIntegralInRange<int>(0, 7) == 7) {
    request.set_grace_us(data.ConsumeIntegral<std::uint64_t>());
  }
  return request;
}

}  // namespace

void Local(Input input) {
  static asio::io_context& loop = *new asio::io_context{1};
  constexpr int kMost = 200;  // requests of one input
  FuzzedDataProvider data(input.data(), input.size());
  test::FakeOperations operations(loop, store::CreateHeapSegment(64_KiB));
  const auto turn = [] {
    loop.restart();
    loop.poll();
  };
  {
    node::LocalEndpoint endpoint(operations);
    int ends[2];
    Require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a socketpair");
    Require(endpoint.AddSession(ends[1]).has_value(), "a session");
    Client client(ends[0]);
    const auto talk = [&] {
      client.Say();
      turn();
      client.Hear();
    };
    if (data.ConsumeIntegralInRange<int>(0, 15) > 0) {
      Request hello;
      hello.set_id(100);
      hello.mutable_hello()->set_protocol_version(wire::kLocalProtocolVersion);
      client.Ask(hello);
    }
    for (int i = 0; i < kMost && data.remaining_bytes() > 0; ++i) {
      if (data.ConsumeIntegralInRange<int>(0, 31) == 31) {
        client.AddAnything(data.ConsumeRandomLengthString(300));
      } else {
        client.Ask(RequestOf(data));
      }
      if (data.ConsumeBool()) talk();
    }
    talk();
    if (data.ConsumeBool()) client.Close();
    turn();
    endpoint.Stop();
  }
  turn();
  Require(operations.waiting() == 0, "requests end with their client");
  Require(operations.subscribers() == 0, "subscriptions end with their client");
  Require(operations.open_registers() == 0, "registers are open until their client ends");
  Require(operations.owned().count == 0, "ids are owned until their client ends");
  for (const store::CopyPtr& copy : operations.store().List()) {
    Require(copy.use_count() == 2, "pins end with their client");
    Require(copy->state() == store::CopyState::kFinal, "drafts end with their client");
  }
}

}  // namespace hoplite::fuzz
