#include "directory/question_line.h"

#include <chrono>
#include <utility>

#include "directory/away.h"
#include "directory/strangers.h"
#include "wire/directory_messages.h"

namespace hoplite::directory {
namespace {

// The connection closes so long after the last answer, before the shard would close it.
constexpr std::chrono::seconds kRest(10);
// The answer about an object with very many holders must fit, for example.
constexpr std::size_t kMaxAnswer = 256_MiB;
constexpr std::chrono::milliseconds kBetweenRounds(100);
// So long a member may be silent at most, where there are others.
constexpr std::chrono::seconds kLongestSilence(2);

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
  if (!socket_) return Connect();
  SendUnsent();
  WatchSilence();
}

void QuestionLine::Stop() {
  stopped_ = true;
  idle_.cancel();
  silence_.cancel();
  Disconnect();
  open_.clear();
}

void QuestionLine::Connect() {
  if (dial_ || open_.empty()) return;
  const auto weak = weak_from_this();
  dial_ = Dial::Start(
      loop_, order_.current(),
      [weak](Result<net::TcpSocket> outcome) {
        if (const auto self = weak.lock()) self->OnConnected(std::move(outcome));
      },
      [weak] {
        if (const auto self = weak.lock()) self->WatchSilence();
      });
  WatchSilence();
}

void QuestionLine::OnConnected(Result<net::TcpSocket> outcome) {
  dial_.reset();
  if (!outcome) return TryNext(outcome.error().message);
  socket_ = std::make_shared<FrameSocket>(loop_, *std::move(outcome), kMaxFrameBytes,
                                          security_.get(), FrameSocket::Side::kConnects);
  reader_ = std::make_shared<MessageReader<v1::ShardMessage>>(kMaxAnswer);
  const auto self = shared_from_this();
  const auto fail = [self](const Error& why) {
    self->TryNext(WhyNoFrame(self->socket_->begun(), why.message));
  };
  socket_->Start({.on_frame = [self](std::string_view frame) { self->Hear(frame); },
                  .on_noise = fail,
                  .on_end = fail,
                  .on_room = nullptr});
  SendUnsent();
  WatchSilence();
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
  if (!message) return TryNext(message.error().message);
  WatchSilence();
  if (*message == nullptr) return;
  if ((*message)->has_ended()) return TryNext((*message)->ended().message());
  if (open_.empty()) return Disconnect();
  if (!(*message)->failure().has_members()) return Answer(**message);
  const Result<wire::NoAnswer> stands_by = wire::FromProto((*message)->failure());
  if (!stands_by) return TryNext(stands_by.error().message);
  TryNext(stands_by->error.message, stands_by->members);
}

void QuestionLine::Answer(v1::ShardMessage& message) {
  order_.Answers({});
  order_.Lasts();
  const QuestionPtr answered = open_.front();
  open_.pop_front();
  answered->timer.cancel();
  answered->done(&message);
  RestIfIdle();
}

void QuestionLine::OnTimeout(const QuestionPtr& question) {
  std::erase(open_, question);
  if (question->sent) {
    Disconnect();
    order_.Fails(kNoAnswer);
    if (!open_.empty()) Connect();
  }
  question->done(std::unexpected(Error(ErrorCode::kTimeout, WhyAway(kNoAnswer))));
}

// Where there is nobody else, only the question's own time counts.
void QuestionLine::WatchSilence() {
  if (!order_.alone()) After(order_.patience(kLongestSilence), &QuestionLine::OnSilence);
}

void QuestionLine::After(Duration delay, void (QuestionLine::*step)()) {
  silence_.expires_after(delay);
  silence_.async_wait([weak = weak_from_this(), step](const asio::error_code& error) {
    const auto self = weak.lock();
    if (self && !error && !self->stopped_) (self.get()->*step)();
  });
}

void QuestionLine::OnSilence() {
  if (!open_.empty()) TryNext(std::string(kNoAnswer));
}

void QuestionLine::TryNext(const std::string& why, const protocol::ShardMembers& members) {
  Disconnect();
  const bool over = members.addresses.empty() ? order_.Fails(why) : order_.StandsBy(members);
  const bool hopeless = order_.alone() || (over && !order_.LastHadSilence());
  if (open_.empty() || hopeless) return FailAll(why);
  After(over ? kBetweenRounds : Duration{0}, &QuestionLine::Connect);
}

void QuestionLine::FailAll(const std::string& why) {
  Disconnect();
  for (const QuestionPtr& question : std::exchange(open_, {})) {
    question->timer.cancel();
    question->done(std::unexpected(Error(ErrorCode::kUnavailable, WhyAway(why))));
  }
}

std::string QuestionLine::WhyAway(std::string_view why) const {
  const std::string report = order_.alone() ? "" : order_.Report();
  return Away(address_, report.empty() ? why : report);
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
