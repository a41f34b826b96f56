#include "client/channel/version_request.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "client/client_access.h"
#include "client/infos.h"
#include "client/pending.h"

namespace hoplite::client {
namespace {

// How long a shard may take to say who has an object.
constexpr std::chrono::seconds kAnswersIn{5};

}  // namespace

VersionRequest::VersionRequest(Means means, std::string name, Wanted wanted, Time deadline)
    : means_(std::move(means)),
      name_(std::move(name)),
      wanted_(std::move(wanted)),
      deadline_(deadline),
      done_(std::make_shared<Pending>(0)) {}

void VersionRequest::GiveUp(const Error& why) {
  means_.connection->Settle(*done_, std::unexpected(why));
  Turn();
}

template <typename T>
void VersionRequest::TurnAtAnswer(T& asked) {
  asked.OnReady([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Turn();
  });
}

// Who comes while another thread takes steps, or from within one, leaves its turn to that one.
void VersionRequest::Turn() {
  if (turns_.fetch_add(1) > 0) return;
  do {
    while (!done_->settled() && Step()) {
    }
    if (done_->settled()) Forget();
  } while (turns_.fetch_sub(1) > 1);
}

// False: there is nothing to do before the next answer.
bool VersionRequest::Step() {
  if (stage_ == Stage::kBegin) return AskForHead(), true;
  if (stage_ == Stage::kHead) return OnHead();
  if (stage_ == Stage::kLater) return OnLater();
  return OnObjects() || OnMoved() || OnInfos();
}

void VersionRequest::AskForHead() {
  const Result<const Register*> head = means_.head();
  if (!head) return Fail(head.error());
  stage_ = Stage::kHead;
  later_.emplace((*head)->GetAsync({.timeout = Left(deadline_)}));
  TurnAtAnswer(*later_);
}

bool VersionRequest::OnHead() {
  if (!later_ || !later_->ready()) return false;
  Result<RegisterEntry> entry = later_->Wait();
  later_.reset();
  if (!entry) {
    Fail(std::move(entry).error());
  } else {
    entry_ = *std::move(entry);
    Judge();
  }
  return true;
}

bool VersionRequest::OnLater() {
  if (!later_ || !later_->ready()) return false;
  const Result<RegisterEntry> entry = later_->Wait();
  if (entry && entry->number == entry_.number && !entry->has_writer) {
    Fail({ErrorCode::kPublisherGone, "its publisher is gone; its last version was " +
                                         std::to_string(head_ ? head_->version : 0)});
    return true;
  }
  return OnHead();
}

// What to do about the entry.
void VersionRequest::Judge() {
  Result<std::optional<Head>> head = HeadOf(entry_);
  if (!head) return Fail(std::move(head).error());
  head_ = *std::move(head);
  const std::optional<std::uint64_t>& exactly = wanted_.version.exactly;
  if (head_ && exactly && head_->version > *exactly) {
    return Fail({ErrorCode::kNotFound, "version " + std::to_string(*exactly) +
                                           " is not the newest any more: that is " +
                                           std::to_string(head_->version)});
  }
  if (!head_ || !Wants(*head_)) return AskForLater();
  if (wanted_.objects) return AskForObjects();
  found_ = Found{*head_, {}};
  End({});
}

bool VersionRequest::Wants(const Head& head) const {
  const VersionOptions& version = wanted_.version;
  if (head.objects.empty() || head.objects.front() == version.after) return false;
  return head.version >= version.at_least && (!version.exactly || head.version == *version.exactly);
}

void VersionRequest::AskForLater() {
  const Result<const Register*> head = means_.head();
  if (!head) return Fail(head.error());
  objects_.clear();
  moved_.reset();
  infos_.reset();
  stage_ = Stage::kLater;
  later_.emplace((*head)->ChangedAsync(
      entry_.number,
      {.only_later = wanted_.version.wait_for_successor, .timeout = Left(deadline_)}));
  TurnAtAnswer(*later_);
}

void VersionRequest::AskForObjects() {
  stage_ = Stage::kObjects;
  objects_.reserve(head_->objects.size());
  for (const ObjectId& object : head_->objects) {
    objects_.push_back(
        means_.client.GetAsync(object, {.only_if_owned = true, .timeout = Left(deadline_)}));
  }
  for (Future<Buffer>& object : objects_) TurnAtAnswer(object);
  WatchHead(entry_.number);
}

void VersionRequest::WatchHead(RegisterNumber after) {
  const Result<const Register*> head = means_.head();
  if (!head) return Fail(head.error());
  moved_.emplace((*head)->ChangedAsync(after, {.only_later = true, .timeout = Left(deadline_)}));
  TurnAtAnswer(*moved_);
}

bool VersionRequest::OnObjects() {
  Found found{*head_, {}};
  for (const Future<Buffer>& object : objects_) {
    if (!object.ready()) continue;
    Result<Buffer> buffer = object.Wait();
    // There is a later head, or will be.
    if (!buffer && buffer.error().code == ErrorCode::kDeleted) return AskForLater(), true;
    if (!buffer) return Fail(std::move(buffer).error()), true;
    found.objects.push_back(*std::move(buffer));
  }
  if (found.objects.size() < objects_.size()) return false;
  found_ = std::move(found);
  End({});
  return true;
}

// Then the objects may have gone with their last holder, and their publisher.
bool VersionRequest::OnMoved() {
  if (!moved_ || !moved_->ready()) return false;
  const Result<RegisterEntry> entry = moved_->Wait();
  moved_.reset();
  if (!entry) return true;  // the objects' own answers say the same
  WatchHead(entry->number);
  if (!infos_) AskForInfos();
  return true;
}

void VersionRequest::AskForInfos() {
  const Time deadline = DeadlineAfter(kAnswersIn);
  infos_ = std::make_unique<Question>(
      means_.connection, means_.connection->Begin(InfoOf(head_->objects), deadline), deadline);
  TurnAtAnswer(*infos_);
}

bool VersionRequest::OnInfos() {
  if (!infos_ || !infos_->ready()) return false;
  const Question::Answer* answer = infos_->Wait(Now());
  const bool lost = answer != nullptr && *answer &&
                    std::ranges::any_of((*answer)->infos().got(),
                                        [](const auto& got) { return IsLost(ReadInfo(got)); });
  infos_.reset();
  if (lost) AskForLater();
  return true;
}

// Nobody waits for what was asked.
void VersionRequest::Forget() {
  later_.reset();
  objects_.clear();
  moved_.reset();
  infos_.reset();
}

void VersionRequest::End(Result<void> outcome) {
  const auto answer = [] { return local::Answer(); };
  means_.connection->Settle(*done_, std::move(outcome).transform(answer));
}

void VersionRequest::Fail(Error why) {
  End(std::unexpected(Error(why.code, "channel '" + name_ + "': " + why.message)));
}

}  // namespace hoplite::client
