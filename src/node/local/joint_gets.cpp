#include "node/local/joint_gets.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <fmt/format.h>

namespace hoplite::node {

Togethers::Waiting Togethers::WhoWants() const {
  Waiting who;
  for (const auto& [number, together] : waiting_) {
    if (together->LeastWanted()) who.push_back(together);
  }
  return who;
}

// While the same ones wait, each of their pins is taken off once.
std::uint64_t Togethers::LargestGap(const Waiting& beside) {
  std::vector<std::uint64_t> numbers;
  for (const JointGets* together : beside) numbers.push_back(together->number_);
  if (!gaps_ || numbers != looked_at_) {
    gaps_.emplace(beside.front()->capacity_);
    for (const JointGets* together : beside) {
      for (const auto& [from, to] : together->pinned_) gaps_->Take(from, to);
    }
    looked_at_ = std::move(numbers);
  }
  return gaps_->largest();
}

void Togethers::Look() {
  for (Waiting who = WhoWants(); who.size() >= 2; who = WhoWants()) {
    const auto wanted = [](const JointGets* together) { return *together->LeastWanted(); };
    if (std::ranges::min(who | std::views::transform(wanted)) <= LargestGap(who)) return;
    who.back()->GiveWay();
  }
}

void Togethers::Held(const JointGets& by, std::uint64_t from, std::uint64_t to) {
  const bool counts = std::ranges::find(looked_at_, by.number_) != looked_at_.end();
  if (gaps_ && counts) gaps_->Take(from, to);
}

void JointGets::Add(const store::Copy& copy) {
  const store::Extent taken =
      store::ExtentAllocator::Taken(copy.segment_offset(), copy.bytes().size());
  if (taken.size == 0) return;
  pinned_[taken.offset] = taken.end();
  gaps_.Take(taken.offset, taken.end());
  all_->Held(*this, taken.offset, taken.end());
  for (auto next = waiting_.upper_bound(gaps_.largest()); next != waiting_.end(); ++next) {
    next->second.signal.Notify();
  }
  if (!waiting_.empty()) all_->Look();
}

// None if it gives way: then it waits for nothing more.
JointGets::Awaited JointGets::LeastWanted() const {
  const auto waits = std::ranges::find_if(
      waiting_, [](const auto& place) { return place.second.awaited.has_value(); });
  if (gives_way_ || waits == waiting_.end()) return std::nullopt;
  return waits->first;
}

void JointGets::GiveWay() {
  gives_way_ = true;
  for (const auto& [bytes, waiting] : waiting_) waiting.signal.Notify();
}

Error JointGets::NoRoom(const ObjectId& object, std::uint64_t bytes) const {
  return {
      ErrorCode::kResourceExhausted,
      fmt::format("object {} has {} bytes: the store of {} has no room for it beside the others "
                  "that were asked for together and are held{}",
                  object.ToHex(), bytes, capacity_,
                  gives_way_ ? ", here and by others who came first and wait as well" : "")};
}

JointGets::Waiter::Waiter(std::shared_ptr<JointGets> together, const Awaited& awaited,
                          net::Signal& signal)
    : joint_gets_(std::move(together)),
      place_(joint_gets_->waiting_.emplace(*awaited, Waiting{awaited, signal})) {
  joint_gets_->all_->waiting_.emplace(joint_gets_->number_, joint_gets_.get());
  joint_gets_->all_->Look();
}

JointGets::Waiter::~Waiter() {
  joint_gets_->waiting_.erase(place_);
  if (!joint_gets_->waiting_.empty()) return;
  joint_gets_->all_->waiting_.erase(joint_gets_->number_);
  joint_gets_->gives_way_ = false;
}

}  // namespace hoplite::node
