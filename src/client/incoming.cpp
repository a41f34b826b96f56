#include "client/incoming.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/try.h"
#include "client/convert.h"
#include "client/interruption.h"
#include "client/reader_impl.h"

namespace hoplite::client {
namespace {

using Incomings = std::vector<std::unique_ptr<Incoming>>;  // null: it has an outcome
using Sizes = std::vector<std::optional<Result<std::uint64_t>>>;

std::vector<Pending*> AskedBy(const Incomings& incomings) {
  std::vector<Pending*> asked;
  for (const auto& incoming : incomings) {
    if (incoming) asked.push_back(&incoming->asked());
  }
  return asked;
}

// Takes what is there; moves outcomes to `answers`. An error says why all are given up.
Result<void> GoOn(Incomings& incomings, Sizes& answers) {
  for (std::size_t place = 0; place < incomings.size(); ++place) {
    std::unique_ptr<Incoming>& incoming = incomings[place];
    if (!incoming || !incoming->asked().settled()) continue;
    if (Interruption::Wanted()) return std::unexpected(Interruption::Reason());
    incoming->GoOn();
    if (!incoming->outcome()) continue;
    answers[place] = *incoming->outcome();
    const bool refused = incoming->refused();
    incoming.reset();
    if (refused) return std::unexpected(answers[place]->error());
  }
  return {};
}

// Until each has an answer.
void FinishAll(const Connection& connection, Time deadline, Incomings& incomings, Sizes& answers) {
  for (auto asked = AskedBy(incomings); !asked.empty(); asked = AskedBy(incomings)) {
    Result<void> came = connection.FinishAny(asked, deadline);
    if (came) came = GoOn(incomings, answers);
    if (came) continue;
    for (std::optional<Result<std::uint64_t>>& answer : answers) {
      if (!answer) answer = std::unexpected(came.error());
    }
    return;
  }
}

// A view as if the object had been opened.
PendingPtr AnsweredBy(const Viewed& viewed) {
  auto opened = std::make_shared<Pending>(viewed.made_by);
  local::Answer answer;
  *answer.mutable_view() = viewed.view;
  opened->Settle(std::move(answer));
  return opened;
}

// Of several what the node has all of, in a few messages.
std::vector<Result<Viewed>> HereOf(const std::shared_ptr<Connection>& connection,
                                   std::span<const ObjectId> ids, const IncomingOptions& options) {
  if (ids.size() > 1) return ViewMany(connection, ids, Now(), options.only_if_owned);
  const Error alone(ErrorCode::kTimeout, "nobody asked");
  return std::vector<Result<Viewed>>(ids.size(), std::unexpected(alone));
}

}  // namespace

Incoming::Incoming(std::shared_ptr<Connection> connection, const ObjectId& id, RoomFor room_for,
                   const IncomingOptions& options, const Result<Viewed>& viewed)
    : connection_(std::move(connection)),
      id_(id),
      room_for_(std::move(room_for)),
      options_(options) {
  if (viewed) {
    asked_ = AnsweredBy(*viewed);
  } else {
    Open();
  }
}

Incoming::~Incoming() {
  if (outcome_) return;
  if (reader_) {
    connection_->GiveUp(*asked_, Error(ErrorCode::kCancelled, "nobody waits for the answer"));
  } else {
    connection_->Drop(asked_);
  }
}

void Incoming::Open() {
  reader_.reset();
  copied_ = 0;
  local::Request request;
  request.mutable_open()->set_object(IdBytes(id_));
  request.mutable_open()->set_only_if_owned(options_.only_if_owned);
  request.mutable_open()->set_window(true);
  asked_ = connection_->Begin(std::move(request), options_.deadline);
}

void Incoming::GoOn() {
  const Result<bool> done = [this]() -> Result<bool> {
    const Result<local::Answer>& answer = asked_->outcome();
    TRY(answer);
    if (reader_) {
      reader_->Grew(*answer, wanted_);
    } else {
      TRY(OnOpened(*answer));
    }
    return Take();
  }();
  if (done) {
    if (*done) outcome_ = reader_->size();
  } else if (reader_ && done.error().code == ErrorCode::kRecalled) {
    Open();  // a newer version: what was copied is worthless
  } else {
    outcome_ = std::unexpected(done.error());
  }
}

Result<void> Incoming::OnOpened(const local::Answer& answer) {
  TRY_ASSIGN(reader_, ClientAccess::MakeReader(connection_, id_, asked_->id(), answer.view()));
  const Result<std::span<std::byte>> room = room_for_(reader_->metadata(), reader_->size());
  refused_ = !room;
  TRY(room);
  into_ = *room;
  if (into_.size() >= reader_->size()) return {};
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument, fmt::format("object {} has {} bytes, the memory for it {}",
                                                     id_.ToHex(), reader_->size(), into_.size())));
}

// Asks first: bytes arrive while these are copied.
Result<bool> Incoming::Take() {
  const std::uint64_t there = reader_->prefix();
  const bool last = reader_->final();
  if (!last) {
    wanted_ = reader_->NextStep(copied_);
    asked_ = reader_->Ask(wanted_, copied_, options_.deadline);
  }
  if (auto done = reader_->Copy(into_, copied_, there); !done) {
    if (!last) connection_->GiveUp(*asked_, done.error());
    return std::unexpected(done.error());
  }
  copied_ = there;
  return last;
}

std::vector<Result<std::uint64_t>> GetManyInto(const std::shared_ptr<Connection>& connection,
                                               std::span<const ObjectId> ids,
                                               const RoomForEach& room_for,
                                               const IncomingOptions& options) {
  Incomings incomings(ids.size());
  const std::vector<Result<Viewed>> here = HereOf(connection, ids, options);
  for (const std::size_t place : OrderOfAsking(ids, connection->node())) {
    const auto room = [&room_for, place](const std::string& metadata, std::uint64_t size) {
      return room_for(place, metadata, size);
    };
    incomings[place] =
        std::make_unique<Incoming>(connection, ids[place], room, options, here[place]);
  }
  Sizes answers(ids.size());
  FinishAll(*connection, options.deadline, incomings, answers);
  std::vector<Result<std::uint64_t>> given;
  given.reserve(ids.size());
  for (auto& answer : answers) given.push_back(*std::move(answer));
  return given;
}

}  // namespace hoplite::client
