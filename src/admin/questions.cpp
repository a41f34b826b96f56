#include "admin/questions.h"

#include <utility>

#include <asio/post.hpp>

#include "base/clock.h"
#include "planner/shard/directory_state.h"
#include "protocol/failure.h"

namespace hoplite::admin {
namespace {

Known Judge(const directory::DirectoryService& shard, protocol::ObjectView view) {
  const ObjectId object = view.object;
  Known known{.view = std::move(view), .presence = shard.state().PresenceOf(object, Now())};
  if (known.presence == protocol::Presence::kFailed) {
    known.why = protocol::FailureIn(known.view.metadata);
  }
  if (!known.why) known.why = shard.state().WhyAbsent(object, Now());
  return known;
}

Known Look(const directory::DirectoryService& shard, const ObjectId& object) {
  auto view = shard.state().Find(object).value_or(protocol::ObjectView());
  view.object = object;
  return Judge(shard, std::move(view));
}

// What a step of the shard's loop may look at.
std::size_t PartsOf(const Known& known) {
  const protocol::ObjectView& view = known.view;
  return 4 + view.holders.size() + view.transfers.size() + view.waiters.size();
}

}  // namespace

struct Questions::Batch {
  std::vector<ObjectId> objects;
  Done<std::vector<Known>> done;
  std::vector<Known> known = {};
};

void Questions::Status(const protocol::PageRequest& page, std::function<bool()> wanted,
                       Done<Picture> done) {
  const auto ask = [this, page, done] {
    shard_->Status(page, [self = shared_from_this(), done](protocol::StatusPage said) {
      if (auto collects = self->shard_->Collects()) {
        return self->Answered<Picture>(done, std::unexpected(*std::move(collects)));
      }
      Picture picture{.page = std::move(said)};
      for (protocol::ObjectView& view : std::exchange(picture.page.page.objects, {})) {
        picture.objects.push_back(Judge(*self->shard_, std::move(view)));
      }
      self->Answered<Picture>(done, std::move(picture));
    });
  };
  Add({std::move(wanted), ask, [done](Error why) { done(std::unexpected(std::move(why))); }});
}

void Questions::Info(std::vector<ObjectId> objects, std::function<bool()> wanted,
                     Done<std::vector<Known>> done) {
  const auto batch = std::make_shared<Batch>(std::move(objects), done);
  const auto ask = [this, batch] {
    shard_->Post([self = shared_from_this(), batch] { self->LookAtSome(batch); });
  };
  Add({std::move(wanted), ask, [done](Error why) { done(std::unexpected(std::move(why))); }});
}

// On the shard's loop.
void Questions::LookAtSome(const std::shared_ptr<Batch>& batch) {
  using All = std::vector<Known>;
  if (auto collects = shard_->Collects()) {
    return Answered<All>(batch->done, std::unexpected(*std::move(collects)));
  }
  for (std::size_t parts = 0; parts < protocol::kMaxPageParts;) {
    if (batch->known.size() == batch->objects.size()) {
      return Answered<All>(batch->done, std::move(batch->known));
    }
    batch->known.push_back(Look(*shard_, batch->objects[batch->known.size()]));
    parts += PartsOf(batch->known.back());
  }
  shard_->Post([self = shared_from_this(), batch] { self->LookAtSome(batch); });
}

// On the shard's loop.
template <typename T>
void Questions::Answered(const Done<T>& done, Result<T> answer) {
  asio::post(loop_, [self = shared_from_this(), done, answer = std::move(answer)]() mutable {
    self->asking_ = false;
    self->AskNext();
    done(std::move(answer));
  });
}

void Questions::Add(Question question) {
  asio::post(loop_, [self = shared_from_this(), question = std::move(question)]() mutable {
    if (self->waiting_.size() >= kMost) {
      return question.refuse({ErrorCode::kResourceExhausted, "too many questions wait already"});
    }
    self->waiting_.push_back(std::move(question));
    self->AskNext();
  });
}

void Questions::AskNext() {
  while (!asking_ && !waiting_.empty()) {
    const Question question = std::move(waiting_.front());
    waiting_.pop_front();
    asking_ = question.wanted();
    if (!asking_) {
      question.refuse({ErrorCode::kCancelled, "whoever asked has gone"});
      continue;
    }
    question.ask();
  }
}

}  // namespace hoplite::admin
