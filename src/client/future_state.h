// The state behind a Future: what was asked, and what becomes of the answer.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <hoplite/future.h>

#include "base/mutex.h"
#include "base/time.h"
#include "client/question.h"

namespace hoplite {

template <typename T>
class FutureState {
 public:
  // `what` it is of: "register leader"
  FutureState(std::unique_ptr<client::Question> question, std::string what)
      : question_(std::move(question)), what_(std::move(what)) {}
  virtual ~FutureState() = default;

  Result<T> Wait(Time until);
  void Cancel();
  client::Question& question() { return *question_; }

 protected:
  // Once, of the answer.
  virtual Result<T> Read(const client::local::Answer& answer) = 0;
  // Nobody wants the value any more, if nobody took it: the last act of a derived class.
  void Drop();

 private:
  const std::unique_ptr<client::Question> question_;
  const std::string what_;
  Mutex mutex_;
  // Made of the answer by the first thread that asks.
  std::optional<Result<T>> result_ HOPLITE_GUARDED_BY(mutex_);
};

class GetState final : public FutureState<Buffer> {
 public:
  GetState(std::unique_ptr<client::Question> question, const ObjectId& object)
      : FutureState(std::move(question), "object " + object.ToHex()), object_(object) {}
  ~GetState() override;

 private:
  const ObjectId object_;

  Result<Buffer> Read(const client::local::Answer& answer) override;
};

class PutState final : public FutureState<ObjectId> {
 public:
  PutState(std::unique_ptr<client::Question> question, const ObjectId& object)
      : FutureState(std::move(question), "object " + object.ToHex()), object_(object) {}
  ~PutState() override;

 private:
  const ObjectId object_;

  Result<ObjectId> Read(const client::local::Answer& /*answer*/) override { return object_; }
};

// Of what only is done, to one object or many.
class DoneState final : public FutureState<void> {
 public:
  DoneState(std::unique_ptr<client::Question> question, std::span<const ObjectId> objects);
  ~DoneState() override;

 private:
  Result<void> Read(const client::local::Answer& /*answer*/) override { return {}; }
};

}  // namespace hoplite
