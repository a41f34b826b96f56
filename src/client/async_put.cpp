#include "client/async_put.h"

#include <utility>

#include "base/try.h"

namespace hoplite {

using client::local::Answer;
using DraftImpl = ClientAccess::DraftImpl;

AsyncPut::AsyncPut(std::shared_ptr<client::Connection> connection, const ObjectId& id,
                   client::Pieces contents, std::shared_ptr<const void> owner, Time deadline)
    : connection_(std::move(connection)),
      id_(id),
      contents_(std::move(contents)),
      deadline_(deadline),
      made_by_(connection_->NextId()),
      done_(std::make_shared<client::Pending>(0)),
      owner_(std::move(owner)) {}

AsyncPut::~AsyncPut() = default;

void AsyncPut::Start(const CreateOptions& options) {
  auto request = DraftImpl::Request(*connection_, made_by_, id_, contents_.size(), options);
  const client::PendingPtr asked = connection_->Begin(std::move(request), deadline_);
  {
    const MutexLock lock(mutex_);
    asked_ = asked;
  }
  GoOn(asked, &AsyncPut::OnCreated);
}

// With `then`, when it is answered; unless nobody has this any more.
void AsyncPut::GoOn(const client::PendingPtr& asked, void (AsyncPut::*then)()) {
  connection_->OnReady(asked, kNever, nullptr, [weak = weak_from_this(), then] {
    if (const auto self = weak.lock()) (self.get()->*then)();
  });
}

void AsyncPut::OnCreated() {
  const Result<void> begun = BeginCopy();
  if (begun) return;
  LetOwnerGo();
  const MutexLock lock(mutex_);
  if (step_ != Step::kDone) End(std::unexpected(begun.error()));
}

Result<void> AsyncPut::BeginCopy() {
  const MutexLock lock(mutex_);
  if (step_ == Step::kDone) return {};
  TRY(asked_->outcome());
  TRY_ASSIGN(draft_,
             DraftImpl::Of(connection_, made_by_, id_, contents_.size(), *asked_->outcome()));
  step_ = Step::kCopy;
  return connection_->background().Do([self = shared_from_this()] { self->Copy(); });
}

void AsyncPut::Copy() {
  {
    const MutexLock lock(mutex_);
    if (step_ == Step::kDone) return;
    copying_ = true;
  }
  const Result<void> written = draft_->Write(contents_, &stop_);
  LetOwnerGo();
  copying_ = false;
  copying_.notify_all();
  if (const auto seal = OnCopied(written)) GoOn(seal, &AsyncPut::OnSealed);
}

// Null: that was the end.
client::PendingPtr AsyncPut::OnCopied(const Result<void>& written) {
  const MutexLock lock(mutex_);
  if (step_ == Step::kDone) return nullptr;
  Result<client::PendingPtr> asked = BeginSeal(written);
  if (asked) {
    step_ = Step::kSeal;
    return asked_ = *std::move(asked);
  }
  End(std::unexpected(asked.error()));
  return nullptr;
}

Result<client::PendingPtr> AsyncPut::BeginSeal(const Result<void>& written) {
  if (why_) return std::unexpected(*why_);
  TRY(written);
  return draft_->BeginSeal(deadline_);
}

void AsyncPut::OnSealed() {
  const MutexLock lock(mutex_);
  if (step_ == Step::kDone) return;
  if (asked_->outcome()) draft_->Sealed();
  End(asked_->outcome());
}

void AsyncPut::End(Result<Answer> outcome) {
  step_ = Step::kDone;
  draft_.reset();  // aborts it unless it is sealed
  connection_->Settle(*done_, std::move(outcome));
}

void AsyncPut::GiveUp(const Error& why) {
  while (!EndUnlessCopying(why)) copying_.wait(true);
  LetOwnerGo();
}

void AsyncPut::LetOwnerGo() {
  std::shared_ptr<const void> gone;  // after the lock
  const MutexLock lock(mutex_);
  gone.swap(owner_);
}

// False: a piece is being copied, and whoever copies it ends the Put.
bool AsyncPut::EndUnlessCopying(const Error& why) {
  const MutexLock lock(mutex_);
  if (step_ == Step::kDone) return true;
  why_ = why;
  stop_ = true;
  if (step_ == Step::kCopy && copying_) return false;
  if (step_ == Step::kCreate) connection_->Drop(asked_);
  if (step_ == Step::kSeal) connection_->GiveUp(*asked_, why);
  End(std::unexpected(why));
  return true;
}

}  // namespace hoplite
