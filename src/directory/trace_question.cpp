#include "directory/trace_question.h"

#include <span>
#include <utility>

#include "directory/question_line.h"

namespace hoplite::directory {
namespace {

Result<std::vector<wire::TraceEntry>> Read(const Result<v1::ShardMessage*>& answer) {
  if (!answer) return std::unexpected(answer.error());
  if (!(*answer)->has_trace()) {
    return std::unexpected(Error(ErrorCode::kProtocol, "the shard answers something else"));
  }
  return wire::DecodeTrace(std::as_bytes(std::span((*answer)->trace().decisions())));
}

}  // namespace

TraceQuestion::TraceQuestion(asio::io_context& loop, std::string address, net::SecurityPtr security,
                             Duration timeout, Done done)
    : line_(std::make_shared<QuestionLine>(loop, std::move(address), std::move(security))) {
  v1::NodeMessage question;
  question.mutable_trace();
  line_->Ask(
      std::move(question), timeout,
      [done = std::move(done)](const Result<v1::ShardMessage*>& answer) { done(Read(answer)); });
}

TraceQuestion::~TraceQuestion() { line_->Stop(); }

}  // namespace hoplite::directory
