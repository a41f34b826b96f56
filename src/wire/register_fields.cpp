#include "wire/register_fields.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "wire/checked_fields.h"

namespace hoplite::wire {
namespace {

void WriteEntry(const protocol::RegisterContents& entry, v1::RegisterEntry& to) {
  if (entry.version) WriteStamp(entry.version, *to.mutable_version());
  if (entry.claim) WriteStamp(entry.claim, *to.mutable_claim());
  to.set_value(entry.value);
  to.set_node(Raw(entry.attempt.node));
  to.set_attempt(entry.attempt.number);
}

Result<std::string> ReadValue(std::string& value) {
  if (value.size() > protocol::kMostRegisterBytes) {
    return Bad("value", fmt::format("has {} bytes, a register holds at most {}", value.size(),
                                    protocol::kMostRegisterBytes));
  }
  return std::move(value);
}

// None where the message has none.
template <typename Message>
Result<Version> ReadVersion(bool has, const Message& stamp, std::string_view field) {
  if (!has) return Version{};
  return ReadStamp<Version>(stamp, field);
}

Result<protocol::RegisterContents> ReadEntry(v1::RegisterEntry& message) {
  protocol::RegisterContents entry;
  TRY_ASSIGN(entry.version, ReadVersion(message.has_version(), message.version(), "version"));
  TRY_ASSIGN(entry.claim, ReadVersion(message.has_claim(), message.claim(), "claim"));
  if (entry.claim > entry.version) return Bad("claim", "is newer than the entry's version");
  TRY_ASSIGN(entry.value, ReadValue(*message.mutable_value()));
  entry.attempt = {NodeId{message.node()}, message.attempt()};
  return entry;
}

Result<protocol::RegisterCall> ReadCall(v1::RegisterUse& message) {
  protocol::RegisterCall call{.number = message.call()};
  if (!message.has_write()) return call;
  v1::RegisterUse::Write& body = *message.mutable_write();
  protocol::CompareAndSet& write = call.write.emplace();
  TRY_ASSIGN(write.expected, ReadVersion(body.has_expected(), body.expected(), "expected"));
  TRY_ASSIGN(write.value, ReadValue(*body.mutable_value()));
  write.claims = body.claims();
  return call;
}

}  // namespace

void WriteRegisterUse(const protocol::RegisterUse& use, v1::RegisterUse& to) {
  to.set_number(use.number);
  to.set_open(use.open);
  if (use.claim) WriteStamp(use.claim, *to.mutable_claim());
  if (use.knows) WriteEntry(*use.knows, *to.mutable_knows());
  if (!use.call) return;
  to.set_call(use.call->number);
  if (!use.call->write) return;
  v1::RegisterUse::Write& write = *to.mutable_write();
  if (use.call->write->expected) WriteStamp(use.call->write->expected, *write.mutable_expected());
  write.set_value(use.call->write->value);
  write.set_claims(use.call->write->claims);
}

void WriteRegisterNews(const protocol::RegisterNews& news, v1::RegisterNews& to) {
  WriteEntry(news.entry, *to.mutable_entry());
  to.set_writer(news.writer);
  to.set_outcome(static_cast<std::uint32_t>(news.outcome));
  to.set_call(news.call);
}

Result<protocol::RegisterUse> ReadRegisterUse(const ObjectId& object, v1::RegisterUse& message) {
  protocol::RegisterUse use{.object = object, .number = message.number(), .open = message.open()};
  TRY_ASSIGN(use.claim, ReadVersion(message.has_claim(), message.claim(), "claim"));
  if (message.has_knows()) {
    TRY_ASSIGN(use.knows, ReadEntry(*message.mutable_knows()));
  }
  if (message.call() == 0 && message.has_write()) return Bad("call", "is missing beside a write");
  if (message.call() != 0) {
    TRY_ASSIGN(use.call, ReadCall(message));
  }
  return use;
}

Result<protocol::RegisterNews> ReadRegisterNews(const ObjectId& object, v1::RegisterNews& message) {
  protocol::RegisterNews news{.object = object, .writer = message.writer(), .call = message.call()};
  TRY_ASSIGN(news.entry, ReadEntry(*message.mutable_entry()));
  TRY_ASSIGN(news.outcome, ReadEnum(message.outcome(), protocol::RegisterOutcome::kNews,
                                    protocol::RegisterOutcome::kLimit, "outcome"));
  return news;
}

}  // namespace hoplite::wire
