// ClientCalls: a Put, from its memory on.
#include <fmt/format.h>

#include "base/limits.h"
#include "base/try.h"
#include "node/clients/client_calls.h"
#include "node/put/publication.h"
#include "node/reduce/coordinator.h"
#include "node/reduce/slot.h"
#include "protocol/elements.h"
#include "protocol/object_name.h"

namespace hoplite::node {
namespace {

// A Put that finds no room waits for evictions and pins so long at most, if the caller set no
// deadline. While the node still reserves memory, or its disk makes room, it waits on: that ends by
// itself.
constexpr Duration kPutPatience = std::chrono::seconds(5);

Error Exists(const ObjectId& object) {
  return {ErrorCode::kAlreadyExists, "object " + object.ToHex() + " exists already"};
}

// While it lives, a Put of the object waits.
class WaitingPut {
 public:
  WaitingPut(EntryPtr entry, std::uint64_t bytes, std::string_view name)
      : entry_(std::move(entry)) {
    entry_->PutWaits(bytes, name);
  }
  ~WaitingPut() { entry_->PutWaits(std::nullopt); }
  WaitingPut(const WaitingPut&) = delete;
  WaitingPut& operator=(const WaitingPut&) = delete;

 private:
  const EntryPtr entry_;
};

}  // namespace

net::Task<Result<std::shared_ptr<Draft>>> ClientCalls::Create(ObjectId object,
                                                              std::uint64_t size_bytes,
                                                              std::string metadata, CallPtr call) {
  const EntryPtr entry = context_.table.At(object);
  const Layout layout = Layout::For(size_bytes, context_.settings.stripe_count);
  CO_TRY(Usable(*entry));
  if (!entry->coordinator()) CO_TRY(TakesNew());
  CO_TRY(layout.Validate());
  if (const std::size_t size = protocol::UsersPart(metadata).size(); size > kMaxMetadataBytes) {
    co_return std::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("metadata of {} bytes: the limit is {}", size, kMaxMetadataBytes)));
  }
  const Time begun = Now();
  const Time patience = begun + kPutPatience;
  const bool patient = call->deadline == kNever;
  if (patient) call->deadline = patience;
  MemoryBroker::Waiter space(context_.memory, call->changed);
  WaitingCall waiting(entry, call);
  for (;;) {
    CO_TRY(Usable(*entry));
    if (call->owned) CO_TRY(MayOwn(object, *call));
    const store::CopyPtr present = context_.store.Find(object);
    const bool complete = present && present->state() == store::CopyState::kFinal;
    const bool reduced =
        entry->target() || (entry->coordinator() && !entry->coordinator()->creates_target());
    if (complete || reduced || entry->publication()) {
      co_return std::unexpected(Exists(object));
    }
    if (!entry->withdrawal().open()) {
      auto copy = space.Try(object, layout, metadata);
      if (copy) {
        Publication::Owning owning{.owner = call->owned ? call->client : nullptr,
                                   .only_if_owned = call->only_if_owned,
                                   .grace = call->grace};
        auto publication = std::make_shared<Publication>(context_, *this, entry, std::move(*copy),
                                                         ++publications_, std::move(owning));
        entry->Begin(publication);
        publication->Begin();
        if (const auto name = protocol::ToldName(metadata); !name.empty()) {
          context_.Note(Decided::kNamed, object, name);
        }
        if (patient) call->deadline = kNever;
        // The client's handle: dropping it unsealed aborts the Put, which the entry keeps alive.
        std::shared_ptr<Draft> draft(publication.get(),
                                     [publication](Draft* dropped) { dropped->Abort(); });
        co_return draft;
      }
      if (!context_.memory.fits_ever(size_bytes)) co_return std::unexpected(copy.error());
    } else {
      space.Leave();  // memory alone would not help it: nobody is to wait behind it
    }
    const WaitingPut waits(entry, size_bytes, protocol::ToldName(metadata));
    if (co_await waiting.Wait()) continue;
    const store::StoreUsage usage = context_.store.usage();
    if (patient && !call->cancelled && usage.not_yet_reserved_bytes > 0) {
      call->deadline = Now() + kPutPatience;
      continue;
    }
    const auto disk_works = context_.memory.DiskWorksUntil(kPutPatience, Now());
    if (patient && !call->cancelled && disk_works) {
      call->deadline = *disk_works;
      continue;
    }
    if (call->cancelled)
      co_return std::unexpected(Error(ErrorCode::kCancelled, "the put was cancelled"));
    if (entry->withdrawal().open()) {
      co_return std::unexpected(co_await Ended(entry, call, begun));
    }
    co_return std::unexpected(Error(ErrorCode::kResourceExhausted,
                                    "object " + object.ToHex() + ' ' + WhyUnfinished(object)));
  }
}

}  // namespace hoplite::node
