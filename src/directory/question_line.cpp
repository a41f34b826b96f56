#include "directory/question_line.h"

#include <chrono>
#include <utility>

#include "directory/away.h"
#include "directory/strangers.h"

namespace hoplite::directory {
namespace {

// The connection closes so long after the last answer, before the shard would close it.
constexpr std::chrono::seconds kRest(10);
// The answer about an object with very many holders must fit, for example.
constexpr std::size_t kMaxAnswer = 256_MiB;

}  // namespace

void QuestionLine::Ask(v1::NodeMessage message, Duration timeout, Done done) {
  if (stopped_) return;
  const auto question = std::make_shared<Question>(loop_);
  question->message = std::move(message);
  question->done = std::move(done);
  question->timer.expires_after(timeout);
  question->timer.async_wait(
      [weak = weak_from_this(), waits = std::weak_ptr(question)](const asio::error_code& error) {
        const auto self = weak.lock();
        const auto late = waits.lock();
        if (self && late && !error) self->OnTimeout(late);
      });
  open_.push_back(question);
  idle_.cancel();
  if (socket_) return SendUnsent();
  Connect();
}

void QuestionLine::Stop() {
  stopped_ = true;
  idle_.cancel();
  Disconnect();
  open_.clear();
}

void QuestionLine::Connect() {
  if (dial_) return;
  dial_ = Dial::Start(loop_, address_, [weak = weak_from_this()](Result<net::TcpSocket> outcome) {
    if (const auto self = weak.lock()) self->OnConnected(std::move(outcome));
  });
}

void QuestionLine::OnConnected(Result<net::TcpSocket> outcome) {
  dial_.reset();
  if (!outcome) return FailAll(outcome.error().message);
  socket_ = std::make_shared<FrameSocket>(loop_, *std::move(outcome), kMaxFrameBytes,
                                          security_.get(), FrameSocket::Side::kConnects);
  reader_ = std::make_shared<MessageReader<v1::ShardMessage>>(kMaxAnswer);
  const auto self = shared_from_this();
  const auto fail = [self](const Error& why) {
    self->FailAll(WhyNoFrame(self->socket_->begun(), why.message));
  };
  socket_->Start({.on_frame = [self](std::string_view frame) { self->Hear(frame); },
                  .on_noise = fail,
                  .on_end = fail,
                  .on_room = nullptr});
  SendUnsent();
  RestIfIdle();
}

void QuestionLine::SendUnsent() {
  for (const QuestionPtr& question : open_) {
    if (!std::exchange(question->sent, true)) socket_->Send(question->message);
  }
}

void QuestionLine::Hear(std::string_view frame) {
  const auto reader = reader_;  // stays whatever `done` does
  const Result<v1::ShardMessage*> message = reader->Read(frame);
  if (!message) return FailAll(message.error().message);
  if (*message == nullptr) return;
  if ((*message)->has_ended()) return FailAll((*message)->ended().message());
  if (open_.empty()) return Disconnect();
  const QuestionPtr answered = open_.front();
  open_.pop_front();
  answered->timer.cancel();
  answered->done(*message);
  RestIfIdle();
}

void QuestionLine::OnTimeout(const QuestionPtr& question) {
  std::erase(open_, question);
  if (question->sent) {
    Disconnect();
    if (!open_.empty()) Connect();
  }
  question->done(std::unexpected(Error(ErrorCode::kTimeout, Away(address_, kNoAnswer))));
}

void QuestionLine::FailAll(const std::string& why) {
  Disconnect();
  for (const QuestionPtr& question : std::exchange(open_, {})) {
    question->timer.cancel();
    question->done(std::unexpected(Error(ErrorCode::kUnavailable, Away(address_, why))));
  }
}

void QuestionLine::Disconnect() {
  if (dial_) dial_->Cancel();
  dial_.reset();
  if (socket_) socket_->Close();
  socket_.reset();
  reader_.reset();
  for (const QuestionPtr& question : open_) question->sent = false;
}

void QuestionLine::RestIfIdle() {
  if (!socket_ || !open_.empty()) return;
  idle_.expires_after(kRest);
  idle_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (self && !error && self->open_.empty()) self->Disconnect();
  });
}

}  // namespace hoplite::directory
