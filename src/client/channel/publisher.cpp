#include "client/channel/publisher.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "client/client_access.h"
#include "client/infos.h"
#include "client/pending.h"
#include "client/pieces.h"
#include "client/register_state.h"
#include "wire/local_protocol.h"

namespace hoplite::client {
namespace {

// What is wrong with their names; empty: nothing.
std::string WrongIn(std::span<const Part> parts) {
  std::set<std::string_view> names;
  for (const Part& part : parts) {
    if (!IsUtf8(part.name) || !IsUtf8(part.dtype)) return "a part's name or dtype is no UTF-8";
    if (!names.insert(part.name).second) return "two parts are named '" + part.name + "'";
  }
  return {};
}

// How long shards may take to say who fetches what may go.
constexpr std::chrono::seconds kFetchersKnownIn{1};

}  // namespace

Publisher::Publisher(Client client, const Register& head, std::string name,
                     const ChannelOptions& options)
    : client_(std::move(client)),
      head_(head),
      name_(std::move(name)),
      deltas_(options.deltas),
      kept_(options.keep) {}

Result<std::uint64_t> Publisher::Publish(std::span<const Part> parts, const PublishOptions& options,
                                         Time deadline) {
  if (const std::string wrong = WrongIn(parts); !wrong.empty()) {
    return std::unexpected(Wrong(ErrorCode::kInvalidArgument, wrong));
  }
  if (!claim_ || !unsure_.empty()) TRY(Look(deadline));
  TRY(CheckVersion(options.version));
  TRY_ASSIGN(Made made, Make(parts, options.metadata, deadline));
  unsure_ = made.objects;
  for (bool moved = false; !moved;) {
    TRY_ASSIGN(moved, Move(made.objects, options.version, deadline));
  }
  unsure_.clear();
  Keep(std::move(made));
  if (deltas_) Remember(parts);
  published_ = version_;
  DropOld(deadline);
  fetched_ = AskWhoFetches();
  return version_;
}

// What the head is before the first publish, and after one without an answer.
Result<void> Publisher::Look(Time deadline) {
  if (fenced_) return std::unexpected(Fenced());
  TRY_ASSIGN(const RegisterEntry entry, head_.Get({.timeout = Left(deadline)}));
  TRY_ASSIGN(const std::optional<Head> head, HeadOf(entry));
  const bool published = Settle(head);
  if (claim_ && (!head || head->claim != *claim_)) return std::unexpected(Fenced());
  if (!claim_ && entry.has_writer) {
    End();
    return std::unexpected(Wrong(ErrorCode::kConflict, "it has a publisher (take_over)"));
  }
  number_ = entry.number;
  version_ = head ? head->version : 0;
  if (published) published_ = version_;
  return {};
}

// Whether the publish without an answer was done; else its new object goes. Its call has ended, and
// the shard has answered a later one: it is not done any more.
bool Publisher::Settle(const std::optional<Head>& head) {
  if (unsure_.empty()) return false;
  Objects made = std::exchange(unsure_, {});
  if (!head || head->objects != made) {
    condemned_.push_back(made.front());
    return false;
  }
  Keep({.objects = std::move(made)});
  return true;
}

void Publisher::Keep(Made made) {
  kept_.Add(std::move(made.objects));
  last_ = std::move(made.manifest);
  last_object_bytes_ = std::move(made.object_bytes);
}

// A successor may go on where its checkpoint was.
Result<void> Publisher::CheckVersion(std::optional<std::uint64_t> version) const {
  if (version_ == std::numeric_limits<std::uint64_t>::max() && !version) {
    return std::unexpected(
        Wrong(ErrorCode::kInvalidArgument, "there is no version after the last"));
  }
  if (!version || !published_ || *version > *published_) return {};
  return std::unexpected(Wrong(ErrorCode::kInvalidArgument,
                               "version " + std::to_string(*version) + ", the next one is " +
                                   std::to_string(*published_ + 1) + " or above"));
}

// A new version, owned and whole.
Result<Publisher::Made> Publisher::Make(std::span<const Part> parts, const std::string& metadata,
                                        Time deadline) {
  std::vector<Buffer> pinned;
  const std::optional<Version> last = LastVersion(parts, pinned, deadline);
  const PackingOptions options{.most_older = kMostObjects - 1, .patches = deltas_};
  TRY_ASSIGN(Made made,
             PutPacked(Pack(parts, metadata, last ? &*last : nullptr, options), deadline));
  const Result<bool> whole = StillHas(std::span(made.objects).subspan(1), deadline);
  if (whole && *whole) return made;
  condemned_.push_back(made.objects.front());
  TRY(whole);
  return PutPacked(Pack(parts, metadata, nullptr, options), deadline);
}

Result<Publisher::Made> Publisher::PutPacked(const Packing& packing, Time deadline) {
  const std::string before = Encoded(packing.manifest);
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(before))};
  pieces.insert(pieces.end(), packing.pieces.begin(), packing.pieces.end());
  TRY_ASSIGN(const ObjectId put, Put(pieces, deadline));
  Made made{
      .objects = {put}, .manifest = packing.manifest, .object_bytes = {Pieces(pieces).size()}};
  for (const std::size_t older : packing.older) {
    made.objects.push_back(kept_.newest()[older]);
    made.object_bytes.push_back(last_object_bytes_[older]);
  }
  return made;
}

// What was not published goes first, and is waited for where there is no room beside it.
Result<ObjectId> Publisher::Put(std::span<const std::span<const std::byte>> pieces, Time deadline) {
  std::optional<Future<void>> going;
  if (!condemned_.empty()) going = client_.DeleteAsync(condemned_, {.timeout = Left(deadline)});
  const ObjectId id = ObjectId::Random();
  const auto put = [&] {
    return client_.Put(pieces, {.id = id, .owned = true, .timeout = Left(deadline)});
  };
  Result<ObjectId> done = put();
  if (!done && done.error().code == ErrorCode::kResourceExhausted && going && going->Wait()) {
    done = put();
  }
  // It may have been made all the same.
  if (!done) client_.DisownSoon(std::span(&id, 1));
  return done;
}

// Whether what a new version lists again is there: a node that stood still may have lost it, and hears
// of that before it says once more that this client owns it.
Result<bool> Publisher::StillHas(std::span<const ObjectId> objects, Time deadline) {
  if (objects.empty()) return true;
  const CallOptions options{.timeout = Left(deadline)};
  const Result<void> owned = client_.Own(objects, options);
  if (!owned && owned.error().code == ErrorCode::kDeleted) return false;
  TRY(owned);
  TRY_ASSIGN(const auto there, client_.WaitExists(objects, 0, options));
  return there.size() == objects.size();
}

// None: it is of no use, or can't be had at once.
std::optional<Version> Publisher::LastVersion(std::span<const Part> parts,
                                              std::vector<Buffer>& objects, Time deadline) {
  if (kept_.empty() || !MayBeEqual(parts, last_)) return std::nullopt;
  Version last{.manifest = last_, .object_bytes = last_object_bytes_, .parts = {}};
  if (deltas_) {
    for (const std::string& part : last_parts_)
      last.parts.push_back(std::as_bytes(std::span(part)));
    return last;
  }
  const CallOptions options{.only_if_owned = true, .timeout = Left(deadline)};
  for (Result<Buffer>& object : client_.GetMany(kept_.newest(), options)) {
    if (!object) return std::nullopt;
    objects.push_back(*std::move(object));
  }
  for (const Lying& lying : last_.lying) {
    const auto bytes = BytesAt(lying.place, objects[lying.place.object].bytes());
    last.parts.push_back(bytes.value_or(std::span<const std::byte>()));
  }
  return last;
}

void Publisher::Remember(std::span<const Part> parts) {
  last_parts_.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::span<const std::byte> bytes = parts[i].bytes;
    const std::size_t kept = bytes.size() < kComparedFrom ? 0 : bytes.size();
    last_parts_[i].assign(reinterpret_cast<const char*>(bytes.data()), kept);
  }
}

// One attempt. False: the head is where a move of its own, whose answer never came, had left it.
Result<bool> Publisher::Move(const Objects& objects, std::optional<std::uint64_t> version,
                             Time deadline) {
  Head head{.claim = claim_ ? *claim_ : RandomClaim(), .version = 0, .objects = objects};
  head.version = version ? *version : version_ + 1;
  const CompareAndSetOptions options{.writer = !claim_, .timeout = Left(deadline)};
  TRY_ASSIGN(const RegisterWrite write, head_.CompareAndSet(number_, Packed(head), options));
  if (!write.written) return OnConflict(write.entry, version);
  claim_ = head.claim;
  number_ = write.entry.number;
  version_ = head.version;
  return true;
}

Result<bool> Publisher::OnConflict(const RegisterEntry& there,
                                   std::optional<std::uint64_t> version) {
  TRY_ASSIGN(const std::optional<Head> head, HeadOf(there));
  if (!claim_ || !head || head->claim != *claim_) return std::unexpected(Fenced());
  number_ = there.number;
  version_ = head->version;
  published_ = head->version;
  TRY(CheckVersion(version));
  return false;
}

// It is no publisher any more, or is none at all.
Error Publisher::Fenced() {
  End();
  fenced_ = fenced_ || claim_.has_value();
  claim_.reset();
  published_.reset();
  return Wrong(ErrorCode::kConflict, "it has another publisher");
}

// Of what may go with the next version: who reads that has begun by now. Null: nothing may.
std::unique_ptr<Question> Publisher::AskWhoFetches() const {
  Objects leaving = kept_.Leaving();
  leaving.resize(std::min(leaving.size(), wire::kMaxGetMany));
  if (leaving.empty()) return nullptr;
  const std::shared_ptr<Connection>& connection = ClientAccess::StateOf(head_).connection;
  const Time deadline = DeadlineAfter(kFetchersKnownIn);
  return std::make_unique<Question>(connection, connection->Begin(InfoOf(leaving), deadline),
                                    deadline);
}

// Nobody's, as far as the shards do not answer.
void Publisher::DropOld(Time deadline) {
  std::set<ObjectId> under_way;
  const Question::Answer* answer =
      fetched_ == nullptr ? nullptr
                          : fetched_->Wait(std::min(deadline, DeadlineAfter(kFetchersKnownIn)));
  if (answer != nullptr && *answer) {
    for (const auto& got : (*answer)->infos().got()) {
      const Result<ObjectInfo> info = ReadInfo(got);
      if (info && !info->transfers.empty()) under_way.insert(info->id);
    }
  }
  const Objects gone =
      kept_.Shrink([&](const ObjectId& object) { return under_way.contains(object); });
  condemned_.insert(condemned_.end(), gone.begin(), gone.end());
  DeleteCondemned(deadline);
}

// Not only disowned: a publisher before may own them, and be lost. What is not confirmed in time is
// deleted once more after the next publish.
void Publisher::DeleteCondemned(Time deadline) {
  if (client_.Delete(std::span(condemned_), {.timeout = Left(deadline)})) condemned_.clear();
}

Result<void> Publisher::TakeOver(Time deadline) {
  while (!claim_) {
    TRY_ASSIGN(const RegisterEntry entry, head_.Get({.timeout = Left(deadline)}));
    TRY_ASSIGN(const std::optional<Head> head, HeadOf(entry));
    number_ = entry.number;
    TRY_ASSIGN(const Objects objects, Own(head, deadline));
    const Result<bool> moved = Move(objects, head ? head->version : 0, deadline);
    // Somebody published, or took over.
    if (!moved && moved.error().code != ErrorCode::kConflict) return std::unexpected(moved.error());
  }
  return {};
}

// Before the claim: their owner may be gone in a moment. None: they are gone.
Result<Publisher::Objects> Publisher::Own(const std::optional<Head>& head, Time deadline) {
  if (!head || head->objects.empty()) return Objects{};
  kept_.Add(head->objects);
  const Result<void> owned = client_.Own(std::span(head->objects), {.timeout = Left(deadline)});
  if (!owned && owned.error().code != ErrorCode::kDeleted) return std::unexpected(owned.error());
  // An id whose tombstone has ended can be owned, too.
  if (owned && std::ranges::none_of(
                   client_.Info(std::span(head->objects), {.timeout = Left(deadline)}), IsLost))
    return head->objects;
  client_.DisownSoon(std::span(kept_.newest()));
  kept_.RemoveNewest();
  return Objects{};
}

// Waits for nobody: it is part of a Close.
void Publisher::End() {
  const Objects kept = kept_.TakeAll();
  client_.DisownSoon(std::span(kept));
  client_.DisownSoon(std::span(unsure_));
  unsure_.clear();
  client_.DisownSoon(std::span(condemned_));
  condemned_.clear();
}

Error Publisher::Wrong(ErrorCode code, const std::string& what) const {
  return {code, "channel '" + name_ + "': " + what};
}

}  // namespace hoplite::client
