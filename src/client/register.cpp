#include <type_traits>
#include <utility>

#include <hoplite/client.h>
#include <hoplite/register.h>

#include "base/try.h"
#include "client/client_access.h"
#include "client/empty.h"
#include "client/futures.h"
#include "client/interruption.h"
#include "client/register_state.h"
#include "wire/local_protocol.h"

namespace hoplite {
namespace {

using client::local::Answer;
using client::local::Request;

static_assert(kMaxRegisterBytes == wire::kMaxRegisterValue);

void Write(RegisterNumber number, client::local::RegisterNumber& message) {
  message.set_incarnation(number.incarnation);
  message.set_sequence(number.sequence);
}

RegisterEntry EntryOf(const client::local::Registered& message) {
  return {.number = {message.number().incarnation(), message.number().sequence()},
          .value = message.value(),
          .has_writer = message.has_writer()};
}

template <typename T>
Future<T> OfNoRegister() {
  return Future<T>::Failed(client::Empty("register", "Client::OpenRegister gives one"));
}

template <typename T>
Result<T> ReadAnswer(const Answer& answer) {
  if (!answer.has_registered()) {
    return std::unexpected(
        Error(ErrorCode::kProtocol, "the node answered without what the register holds"));
  }
  if constexpr (std::is_same_v<T, RegisterWrite>) {
    return RegisterWrite{answer.registered().written(), EntryOf(answer.registered())};
  } else {
    return EntryOf(answer.registered());
  }
}

}  // namespace

template <typename T>
Future<T> Register::State::Ask(Request request, std::chrono::milliseconds timeout) const {
  const Time deadline = client::DeadlineAfter(timeout);
  return client::FutureOf<T>(client::Asking(connection, std::move(request), deadline),
                             "register " + name, &ReadAnswer<T>);
}

Result<Register> Client::OpenRegister(std::string_view name, const CallOptions& options) {
  const Time deadline = client::DeadlineAfter(options.timeout);
  auto connection = state_->Now(deadline);
  const std::uint64_t made_by = connection->NextId();
  Request request;
  request.set_id(made_by);
  request.mutable_open_register()->set_name(std::string(name));
  const client::Interruption by_caller(options.stop);
  TRY(connection->Call(std::move(request), deadline));
  return Register(std::make_shared<const Register::State>(state_, std::move(connection), made_by,
                                                          std::string(name)));
}

Register::Register() = default;
Register::Register(std::shared_ptr<const State> state) : state_(std::move(state)) {}
Register::~Register() = default;
Register::Register(Register&&) noexcept = default;
Register& Register::operator=(Register&&) noexcept = default;

Result<RegisterEntry> Register::Get(const CallOptions& options) const {
  return GetAsync(options).Wait(options.stop);
}

Future<RegisterEntry> Register::GetAsync(const CallOptions& options) const {
  if (!state_) return OfNoRegister<RegisterEntry>();
  Request request;
  request.mutable_read_register()->set_open(state_->made_by);
  return state_->Ask<RegisterEntry>(std::move(request), options.timeout);
}

Result<RegisterWrite> Register::CompareAndSet(RegisterNumber expected, std::string_view value,
                                              const CompareAndSetOptions& options) const {
  return CompareAndSetAsync(expected, value, options).Wait();
}

Future<RegisterWrite> Register::CompareAndSetAsync(RegisterNumber expected, std::string_view value,
                                                   const CompareAndSetOptions& options) const {
  if (!state_) return OfNoRegister<RegisterWrite>();
  Request request;
  client::local::WriteRegister& write = *request.mutable_write_register();
  write.set_open(state_->made_by);
  if (expected) Write(expected, *write.mutable_expected());
  write.set_value(std::string(value));
  write.set_writer(options.writer);
  return state_->Ask<RegisterWrite>(std::move(request), options.timeout);
}

Result<RegisterEntry> Register::Changed(RegisterNumber after, const ChangedOptions& options) const {
  return ChangedAsync(after, options).Wait();
}

Future<RegisterEntry> Register::ChangedAsync(RegisterNumber after,
                                             const ChangedOptions& options) const {
  if (!state_) return OfNoRegister<RegisterEntry>();
  Request request;
  request.mutable_await_register()->set_open(state_->made_by);
  request.mutable_await_register()->set_only_later(options.only_later);
  if (after) Write(after, *request.mutable_await_register()->mutable_after());
  return state_->Ask<RegisterEntry>(std::move(request), options.timeout);
}

}  // namespace hoplite
