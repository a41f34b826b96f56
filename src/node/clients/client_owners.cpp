// ClientCalls: owning.
#include <fmt/format.h>

#include "base/try.h"
#include "node/clients/client_calls.h"
#include "node/owners/owners.h"
#include "node/registers/registers.h"

namespace hoplite::node {

namespace {

Error OwnerGone(const ObjectId& object) {
  return {ErrorCode::kCancelled,
          "the client that was to own object " + object.ToHex() + " is closed"};
}

Error GraceTooLong(const ObjectId& object, Duration grace, Duration longest) {
  const auto seconds = [](Duration one) { return std::chrono::duration<double>(one).count(); };
  return {
      ErrorCode::kInvalidArgument,
      fmt::format("object {}: a grace of {} s is asked for, but the directory marks a deleted id "
                  "for {} s only (--tombstone), and no grace may be longer",
                  object.ToHex(), seconds(grace), seconds(longest))};
}

}  // namespace

// May it become the owner of this id?
Result<void> ClientCalls::MayOwn(const ObjectId& object, const Call& call) const {
  if (call.client->gone) return std::unexpected(OwnerGone(object));
  const Duration longest = context_.owners.longest_grace(object);
  if (call.grace > longest) return std::unexpected(GraceTooLong(object, *call.grace, longest));
  if (context_.owners.has_room(object)) return {};
  return std::unexpected(
      Error(ErrorCode::kResourceExhausted,
            fmt::format("the clients of this node own {} ids, as many as it allows (max_owned)",
                        context_.owners.owned().limit)));
}

net::Task<Result<void>> ClientCalls::Own(ObjectId object, CallPtr call) {
  const EntryPtr entry = context_.table.At(object);
  CO_TRY(Usable(*entry));
  CO_TRY(MayOwn(object, *call));
  WaitingCall waiting(entry, call);
  const Owners::Asking asking(context_.owners, object, *call);
  bool waits = true;
  while (!asking.result() && waits) {
    if (context_.table.stopped()) co_return std::unexpected(*context_.table.stopped());
    if (call->client->gone) co_return std::unexpected(OwnerGone(object));
    waits = co_await waiting.Wait();
  }
  if (!asking.result()) co_return std::unexpected(NotOwned(object, *call));
  switch (*asking.result()) {
    case protocol::OwnerResult::kOk:
      co_return Result<void>{};
    case protocol::OwnerResult::kDeleted:
      co_return std::unexpected(
          Error(ErrorCode::kDeleted,
                "object " + object.ToHex() + " was deleted: its last owner is gone"));
    case protocol::OwnerResult::kLimit:
      break;
  }
  co_return std::unexpected(Error(ErrorCode::kResourceExhausted,
                                  "this node owns as many ids as the directory allows a node"));
}

// Why a wait for the answer ended without it.
Error ClientCalls::NotOwned(const ObjectId& object, const Call& call) const {
  if (call.cancelled) return {ErrorCode::kCancelled, "the own was cancelled"};
  return {ErrorCode::kTimeout, "the directory did not confirm within the deadline that object " +
                                   object.ToHex() + " is owned" + context_.IfAway(object)};
}

net::Task<Result<void>> ClientCalls::Disown(ObjectId object, CallPtr call) {
  context_.owners.Disown(object, *call->client);
  co_return Result<void>{};
}

void ClientCalls::OnClientEnd(const Owner& client, ClientEnd how) {
  context_.owners.OnClientEnd(client, how);
}

OwnedIds ClientCalls::owned() const { return context_.owners.owned(); }

std::shared_ptr<node::OpenRegister> ClientCalls::OpenRegister(const std::string& name) {
  return context_.registers.Open(name);
}

}  // namespace hoplite::node
