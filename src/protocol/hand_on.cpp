#include "protocol/hand_on.h"

#include <span>

namespace hoplite::protocol {

std::vector<HandedOn> HandOn(const InlineObject& given) {
  std::vector<HandedOn> gives;
  std::span<const Onward> left(given.onward);
  while (!left.empty()) {
    const Onward& next = left[left.size() / 2];
    const auto rest = left.subspan(left.size() / 2 + 1);
    gives.push_back({next.node,
                     {.object = given.object,
                      .version = given.version,
                      .metadata = given.metadata,
                      .bytes = given.bytes,
                      .onward = {rest.begin(), rest.end()},
                      .number = next.number}});
    left = left.first(left.size() / 2);
  }
  return gives;
}

}  // namespace hoplite::protocol
