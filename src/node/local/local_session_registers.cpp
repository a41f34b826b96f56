// The requests about registers.
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "node/local/local_session.h"
#include "node/local/request_errors.h"

namespace hoplite::node {
namespace {

Version ReadNumber(const local::RegisterNumber& number) {
  return {{number.incarnation(), number.sequence()}};
}

void Fill(const OpenRegister::Answer& answer, local::Registered& message) {
  if (const Version& version = answer.entry.version) {
    message.mutable_number()->set_incarnation(version.incarnation);
    message.mutable_number()->set_sequence(version.sequence);
  }
  message.set_value(answer.entry.value);
  message.set_has_writer(answer.writer);
  message.set_written(answer.written);
}

}  // namespace

LocalSession::Handled LocalSession::OpenRegister(Id id, const local::OpenRegister& body) {
  if (body.name().empty() || body.name().size() > wire::kMaxRegisterName) {
    co_return std::unexpected(
        InvalidRequest(fmt::format("the name of a register has {} bytes; 1 to {} are allowed",
                                   body.name().size(), wire::kMaxRegisterName)));
  }
  co_return Keep(id, RegisterEntry{operations_.OpenRegister(body.name())});
}

Result<std::shared_ptr<node::OpenRegister>> LocalSession::Opened(Id id) {
  const auto* entry = Find<RegisterEntry>(id);
  if (entry == nullptr) return std::unexpected(InvalidRequest("this register was closed"));
  return entry->opened;
}

LocalSession::Handled LocalSession::ReadRegister(const local::ReadRegister& body, CallPtr call,
                                                 local::Answer& answer) {
  CO_TRY_ASSIGN(const auto opened, Opened(body.open()));
  CO_TRY_ASSIGN(const auto read, co_await opened->Get(std::move(call)));
  Fill(read, *answer.mutable_registered());
  co_return Result<void>();
}

LocalSession::Handled LocalSession::WriteRegister(const local::WriteRegister& body, CallPtr call,
                                                  local::Answer& answer) {
  CO_TRY_ASSIGN(const auto opened, Opened(body.open()));
  if (body.value().size() > wire::kMaxRegisterValue) {
    co_return std::unexpected(
        InvalidRequest(fmt::format("a value of {} bytes; a register holds at most {}",
                                   body.value().size(), wire::kMaxRegisterValue)));
  }
  protocol::CompareAndSet write{
      .expected = ReadNumber(body.expected()), .value = body.value(), .claims = body.writer()};
  CO_TRY_ASSIGN(const auto written,
                co_await opened->CompareAndSet(std::move(write), std::move(call)));
  Fill(written, *answer.mutable_registered());
  co_return Result<void>();
}

LocalSession::Handled LocalSession::AwaitRegister(const local::AwaitRegister& body, CallPtr call,
                                                  local::Answer& answer) {
  CO_TRY_ASSIGN(const auto opened, Opened(body.open()));
  CO_TRY_ASSIGN(const auto changed, co_await opened->Changed(ReadNumber(body.after()),
                                                             body.only_later(), std::move(call)));
  Fill(changed, *answer.mutable_registered());
  co_return Result<void>();
}

}  // namespace hoplite::node
