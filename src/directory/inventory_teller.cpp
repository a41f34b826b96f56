#include "directory/inventory_teller.h"

#include <iterator>
#include <variant>

namespace hoplite::directory {

void InventoryTeller::Begin(std::uint64_t incarnation) {
  told_ = {};
  told_early_.clear();
  due_.clear();
  questions_.clear();
  if (incarnation != incarnation_) taken_bytes_ = {};
  incarnation_ = incarnation;
  told_bytes_ = taken_bytes_;
  under_way_.clear();
  more_bytes_ = true;
}

bool InventoryTeller::MaySay(const protocol::NodeEvent& event) {
  const ObjectId* object = protocol::ObjectOf(event);
  if (object == nullptr || told_.Covers(*object) || told_early_.contains(*object)) return true;
  due_.insert(*object);
  if (std::holds_alternative<protocol::EvictAsk>(event)) questions_.push_back(event);
  return false;
}

InventoryTeller::Events InventoryTeller::TakeDue() {
  Events events;
  for (const ObjectId& object : std::exchange(due_, {})) {
    if (told_.Covers(object)) continue;  // its turn came meanwhile
    std::ranges::move(hooks_.inventory_of(object), std::back_inserter(events));
    told_early_.insert(object);
  }
  std::ranges::move(std::exchange(questions_, {}), std::back_inserter(events));
  return events;
}

std::optional<InventoryTeller::Events> InventoryTeller::Next(std::size_t bytes) {
  if (told_.all) return std::nullopt;
  DirectoryClient::Part part = hooks_.inventory(shard_, told_.object, bytes, told_early_);
  told_ = Reach::To(part);
  if (told_.all) {
    told_early_.clear();
    part.events.emplace_back(protocol::InventoryEnd{});
  }
  return std::move(part.events);
}

std::optional<InventoryTeller::Events> InventoryTeller::NextBytes(std::size_t bytes) {
  if (!hooks_.inline_bytes || !more_bytes_ || told_bytes_.all) return std::nullopt;
  DirectoryClient::Part part = hooks_.inline_bytes(shard_, told_bytes_.object, bytes);
  told_bytes_ = Reach::To(part);
  return std::move(part.events);
}

void InventoryTeller::Taken(std::uint64_t taken) {
  while (!under_way_.empty() && under_way_.front().sent <= taken) {
    taken_bytes_ = under_way_.front().reach;
    under_way_.pop_front();
  }
}

}  // namespace hoplite::directory
