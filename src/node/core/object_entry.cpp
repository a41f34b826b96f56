#include "node/core/object_entry.h"

#include <algorithm>

namespace hoplite::node {

bool Followers::any() const {
  return std::ranges::any_of(subscribers_, [](const auto& one) { return !one.expired(); });
}

bool Followers::Add(const std::shared_ptr<Subscriber>& subscriber) {
  const bool first = !any();
  subscribers_.push_back(subscriber);
  return first;
}

bool Followers::Sweep() {
  std::erase_if(subscribers_, [](const auto& one) { return one.expired(); });
  if (!subscribers_.empty()) return false;
  places_.clear();
  failure_.reset();
  lost_ = false;
  return true;
}

// Who is told may leave, or bring others.
void Followers::ForEach(const std::function<void(const Subscriber&)>& tell) const {
  const auto subscribers = subscribers_;
  for (const auto& weak : subscribers) {
    if (const auto subscriber = weak.lock()) tell(*subscriber);
  }
}

void Followers::Tell(const protocol::Location& location) {
  if (location.kind == protocol::LocationKind::kGone) {
    places_.erase(location.node);
  } else {
    places_[location.node] = location;
    failure_.reset();
    lost_ &= location.kind == protocol::LocationKind::kPartial;
  }
  ForEach([&](const Subscriber& one) {
    if (one.on_location) one.on_location(location);
  });
}

void Followers::TellDeleted() {
  places_.clear();
  ForEach([](const Subscriber& one) {
    if (one.on_deleted) one.on_deleted();
  });
}

void Followers::TellFailed(const Error& why) {
  failure_ = why;
  ForEach([&](const Subscriber& one) {
    if (one.on_failed) one.on_failed(why);
  });
}

void Followers::TellLost() {
  lost_ = true;
  ForEach([](const Subscriber& one) {
    if (one.on_lost) one.on_lost();
  });
}

void Followers::TellUnowned(const Expectations& expectations) {
  ForEach([&](const Subscriber& one) {
    if (one.on_deleted && expectations.disappointed(one.expects)) one.on_deleted();
  });
}

void Followers::Forget() {
  const auto known = std::exchange(places_, {});
  failure_.reset();
  lost_ = false;
  ForEach([&](const Subscriber& one) {
    if (!one.on_forgotten) return;
    for (const auto& [node, location] : known) one.on_forgotten(node);
  });
}

void ObjectEntry::Ended(const Publication& publication) {
  if (publication_.get() == &publication) publication_.reset();
}

void ObjectEntry::Ended(const Flight& flight) {
  if (flight_.get() == &flight) flight_.reset();
}

void ObjectEntry::Ended(const ReadBack& read) {
  if (read_back_.get() == &read) read_back_.reset();
}

void ObjectEntry::Ended(std::uint32_t number, const Slot& slot) {
  const auto present = slots_.find(number);
  if (present != slots_.end() && present->second.slot.get() == &slot) slots_.erase(present);
}

std::shared_ptr<Slot> ObjectEntry::slot(std::uint32_t number) const {
  const auto found = slots_.find(number);
  return found == slots_.end() ? nullptr : found->second.slot;
}

std::shared_ptr<Slot> ObjectEntry::target() const {
  const SlotHere* newest = nullptr;
  for (const auto& [number, here] : slots_) {
    if (here.root && (newest == nullptr || newest->version < here.version)) newest = &here;
  }
  return newest == nullptr ? nullptr : newest->slot;
}

bool ObjectEntry::idle(Time now) const {
  return !publication_ && !withdrawal_.open() && !flight_ && !read_back_ && !coordinator_ &&
         slots_.empty() && waiters_.empty() && !followers_.any() && !deleted(now) &&
         !deletion_.asked() && outgoing_ == 0 && inlined_.expired();
}

void ObjectEntry::Clear() {
  publication_.reset();
  flight_.reset();
  read_back_.reset();
  coordinator_.reset();
  slots_.clear();
}

}  // namespace hoplite::node
