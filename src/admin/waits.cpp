#include "admin/waits.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "admin/questions.h"
#include "base/clock.h"
#include "planner/shard/directory_state.h"

namespace hoplite::admin {
namespace {

bool Gone(protocol::Presence presence) {
  using enum protocol::Presence;
  return presence == kDeleted || presence == kLost || presence == kFailed;
}

}  // namespace

std::shared_ptr<Waits> Waits::Make(std::shared_ptr<directory::DirectoryService> shard) {
  const std::shared_ptr<Waits> waits(new Waits(shard));
  shard->Post([weak = std::weak_ptr(waits), shard = shard.get()] {
    shard->OnTouched([weak](const ObjectId& object) {
      if (const auto self = weak.lock()) self->Look(object);
    });
  });
  return waits;
}

std::uint64_t Waits::Begin(std::vector<ObjectId> objects, std::size_t count, Done done) {
  const std::uint64_t number = next_++;
  auto wait = std::make_shared<Wait>(std::move(objects), count, std::move(done));
  shard_->Post(
      [self = shared_from_this(), number, wait] { self->Start(number, std::move(*wait)); });
  return number;
}

void Waits::End(std::uint64_t wait, const Error& why) {
  shard_->Post(
      [self = shared_from_this(), wait, why] { self->Finish(wait, std::unexpected(why)); });
}

void Waits::EndAll(const Error& why) {
  shard_->Post([self = shared_from_this(), why] {
    self->ended_ = why;
    while (!self->open_.empty()) self->Finish(self->open_.begin()->first, std::unexpected(why));
  });
}

void Waits::Start(std::uint64_t number, Wait wait) {
  if (ended_) return wait.done(std::unexpected(*ended_));
  if (auto collects = shard_->Collects()) return wait.done(std::unexpected(*std::move(collects)));
  if (open_.size() >= kMost) {
    return wait.done(std::unexpected(
        Error(ErrorCode::kResourceExhausted,
              fmt::format("{} calls of WaitExists wait already: that is the limit", kMost))));
  }
  for (const ObjectId& object : wait.objects) {
    wait.presences.push_back(shard_->state().PresenceOf(object, Now()));
  }
  if (Over(wait)) return wait.done(std::move(wait.presences));
  for (std::size_t i = 0; i < wait.objects.size(); ++i) {
    places_[wait.objects[i]].insert({number, i});
    shard_->Watch(wait.objects[i]);
  }
  open_.emplace(number, std::move(wait));
}

void Waits::Look(const ObjectId& object) {
  const auto watched = places_.find(object);
  if (watched == places_.end()) return;
  const protocol::Presence presence = shard_->state().PresenceOf(object, Now());
  std::set<std::uint64_t> over;
  for (const auto& [number, place] : watched->second) {
    Wait& wait = open_.at(number);
    if (std::exchange(wait.presences[place], presence) == presence) continue;
    if (Over(wait)) over.insert(number);
  }
  for (const std::uint64_t number : over) Finish(number, std::move(open_.at(number).presences));
}

bool Waits::Over(const Wait& wait) {
  const auto complete = std::ranges::count(wait.presences, protocol::Presence::kComplete);
  const auto gone = std::ranges::count_if(wait.presences, Gone);
  return static_cast<std::size_t>(complete) >= wait.count ||
         wait.presences.size() - static_cast<std::size_t>(gone) < wait.count;
}

void Waits::Finish(std::uint64_t number, Result<Presences> answer) {
  const auto entry = open_.extract(number);
  if (entry.empty()) return;
  const Wait& wait = entry.mapped();
  for (std::size_t i = 0; i < wait.objects.size(); ++i) {
    const auto watched = places_.find(wait.objects[i]);
    watched->second.erase({number, i});
    if (!watched->second.empty()) continue;
    shard_->Unwatch(watched->first);
    places_.erase(watched);
  }
  wait.done(std::move(answer));
}

}  // namespace hoplite::admin
