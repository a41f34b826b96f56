#include "call.h"

namespace tasks {

using hoplite::Error;
using hoplite::ErrorCode;
using hoplite::Result;

namespace {

constexpr std::chrono::seconds kPatience{60};   // with an argument that does not come
constexpr std::chrono::seconds kUntilKnown{3};  // more than the directory's lease and grace

std::unexpected<Error> Fail(std::string_view why) {
  return std::unexpected(Error(ErrorCode::kFailed, std::string(why)));
}

}  // namespace

Result<void> Call::Return(std::span<const std::byte> bytes) {
  answer_ = {.verb = Verb::kDone};
  while (true) {
    const auto put = client_.Put(bytes, {.id = task_.result, .timeout = kPatience});
    if (put || put.error().code == ErrorCode::kDeleted) return {};  // nobody needs it any more
    if (put.error().code != ErrorCode::kAlreadyExists) return std::unexpected(put.error());
    // A worker that is dead now had made it. Either somebody else has it, too, or the directory will
    // soon know that it is lost.
    if (client_.Get(task_.result, {.timeout = kUntilKnown})) return {};
    const auto known = client_.Info(task_.result, {.timeout = kUntilKnown});
    if (known && known->failure) return {};  // it had failed there
  }
}

Result<void> Call::Become(Task task) {
  answer_ = {.verb = Verb::kBecome, .task = std::move(task)};
  return {};
}

hoplite::ObjectId Call::Submit(Task task) {
  // The same name when this task runs once more.
  const std::string name = task_.result.ToHex() + '/' + std::to_string(submitted_++);
  task.result = hoplite::ObjectId::FromName(name);
  Send(driver_, {.verb = Verb::kSubmit, .task = task});
  return task.result;
}

Message Call::Run(const Functions& functions) {
  const Result<void> done = Try(functions);
  if (done) return *answer_;
  // Like a small object: the directory has it, and no worker can lose it.
  (void)client_.Fail(task_.result, done.error(), {.timeout = kPatience});
  return {.verb = Verb::kDone};
}

Result<void> Call::Try(const Functions& functions) {
  const auto function = functions.find(task_.function);
  if (function == functions.end()) return Fail("there is no function '" + task_.function + "'");
  for (auto& argument : client_.GetMany(task_.arguments, {.timeout = kPatience})) {
    if (!argument) return std::unexpected(argument.error());
    arguments_.push_back(*std::move(argument));
  }
  const Result<void> done = function->second(*this);
  return done && !answer_ ? Fail("'" + task_.function + "' gave no answer") : done;
}

}  // namespace tasks
