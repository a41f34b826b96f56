// AsyncPut: a Put of a large object that nobody waits for: asks for memory, copies into it, seals
// it.
//
// Decides: which step comes next. Is told: the node's answers, on the reader's thread; that it is
// given up. Must never: read the caller's bytes once `done` is settled; copy on the reader's
// thread; let the bytes' owner go, which runs the user's code, while it holds a lock or once `done` is
// settled. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/mutex.h"
#include "base/time.h"
#include "client/client_access.h"
#include "client/connection.h"
#include "client/draft_impl.h"
#include "client/pieces.h"

namespace hoplite {

class AsyncPut : public std::enable_shared_from_this<AsyncPut> {
 public:
  // `owner`: of the bytes, which is let go when they are not read any more.
  AsyncPut(std::shared_ptr<client::Connection> connection, const ObjectId& id,
           client::Pieces contents, std::shared_ptr<const void> owner, Time deadline);
  ~AsyncPut();

  void Start(const CreateOptions& options);
  // Settled at the end: with some answer, or why there is no such object.
  const client::PendingPtr& done() const { return done_; }
  // When it returns `done` is settled: with `why`, unless it was before. Waits while a piece is
  // being copied.
  void GiveUp(const Error& why);

 private:
  enum class Step { kCreate, kCopy, kSeal, kDone };

  void GoOn(const client::PendingPtr& asked, void (AsyncPut::*then)());
  void OnCreated();
  void Copy();
  client::PendingPtr OnCopied(const Result<void>& written);
  void OnSealed();
  Result<void> BeginCopy();
  Result<client::PendingPtr> BeginSeal(const Result<void>& written) HOPLITE_REQUIRES(mutex_);
  bool EndUnlessCopying(const Error& why);
  void LetOwnerGo();
  void End(Result<client::local::Answer> outcome) HOPLITE_REQUIRES(mutex_);

  const std::shared_ptr<client::Connection> connection_;
  const ObjectId id_;
  const client::Pieces contents_;
  const Time deadline_;
  const std::uint64_t made_by_;
  const client::PendingPtr done_;
  std::atomic<bool> stop_{false};

  Mutex mutex_;
  Step step_ HOPLITE_GUARDED_BY(mutex_) = Step::kCreate;
  client::PendingPtr asked_ HOPLITE_GUARDED_BY(mutex_);  // of kCreate and kSeal
  std::optional<Error> why_ HOPLITE_GUARDED_BY(mutex_);
  std::shared_ptr<const void> owner_ HOPLITE_GUARDED_BY(mutex_);
  // Changed under the mutex, and not while the bytes are being read; Copy uses it without.
  std::unique_ptr<ClientAccess::DraftImpl> draft_;
  std::atomic<bool> copying_{false};  // the bytes are being read, or let go; set under the mutex
};

}  // namespace hoplite
