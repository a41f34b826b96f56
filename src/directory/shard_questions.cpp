#include "directory/shard_questions.h"

#include <chrono>
#include <utility>

#include <asio/post.hpp>

#include "base/try.h"
#include "wire/directory_messages.h"

namespace hoplite::directory {
namespace {

// Until the next question.
constexpr std::chrono::minutes kIdle(1);
// Until the reader has taken some of its answer.
constexpr std::chrono::seconds kStalled(10);

}  // namespace

void ShardQuestions::Start(asio::io_context& loop, std::shared_ptr<DirectoryService> service,
                           std::shared_ptr<FrameSocket> socket, const v1::NodeMessage& first) {
  const std::shared_ptr<ShardQuestions> self(
      new ShardQuestions(loop, std::move(service), std::move(socket)));
  self->socket_->SetHooks({.on_frame = [self](std::string_view frame) { self->Hear(frame); },
                           .on_noise = [self](Error why) { self->Refuse(std::move(why)); },
                           .on_end = [self](const Error&) { self->patience_.cancel(); },
                           .on_room = [self] { self->SendSome(); }});
  self->Take(first);
}

void ShardQuestions::Hear(std::string_view frame) {
  const Result<v1::NodeMessage*> message = reader_.Read(frame);
  if (!message) return Refuse(message.error());
  if (*message != nullptr) Take(**message);
}

void ShardQuestions::Take(const v1::NodeMessage& question) {
  socket_->Pause();
  CloseAfter(kStalled);
  if (const auto why = service_->StandsBy()) {
    return Answer(ShardAnswer::Of(*why, service_->members()));
  }
  if (question.has_status()) {
    const Result<protocol::PageRequest> page = wire::FromProto(question.status());
    if (!page) return Answer(ShardAnswer::Of(page.error()));
    return service_->Status(*page, [self = shared_from_this()](protocol::StatusPage status) {
      self->Answer(ShardAnswer::Of(std::move(status)));
    });
  }
  if (question.has_info()) {
    const Result<ObjectId> object = ObjectId::FromBytes(question.info().object());
    if (!object) return Answer(ShardAnswer::Of(object.error()));
    return service_->Find(*object,
                          [self = shared_from_this()](const Result<protocol::ObjectView>& found) {
                            self->Answer(ShardAnswer::Of(found));
                          });
  }
  if (question.has_trace()) return Answer(ShardAnswer::Of(service_->Decisions()));
  Refuse({ErrorCode::kProtocol, "a connection that began with a question has only questions"});
}

void ShardQuestions::Answer(ShardAnswer answer) {
  answer_ = std::move(answer);
  answers_ = true;
  SendSome();
}

// A part at a time: between two of them the loop does other work.
void ShardQuestions::SendSome() {
  if (!answers_ || socket_->closed() || socket_->unsent() > 0) return;
  bool last = false;
  std::string part = answer_.Next(last);
  SendPart(*socket_, std::move(part), last);
  if (last) {
    answers_ = false;
    answer_ = {};
    CloseAfter(kIdle);
    return socket_->Resume();
  }
  CloseAfter(kStalled);
  if (socket_->unsent() > 0) return;  // on_room goes on
  asio::post(loop_, [self = shared_from_this()] { self->SendSome(); });
}

void ShardQuestions::Refuse(Error why) { SendLast(*socket_, {.error = std::move(why)}); }

void ShardQuestions::CloseAfter(Duration patience) {
  patience_.expires_after(patience);
  patience_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->socket_->Close();
  });
}

}  // namespace hoplite::directory
