#include "sim/kit/message_digest.h"

#include <variant>

#include "base/digest_fields.h"

namespace hoplite::sim {

void AddTo(Digest& digest, const planner::EventBody& event) {
  digest.Add(event.index());
  if (const auto* said = std::get_if<planner::NodeSaid>(&event)) {
    digest.Add(said->node);
    AddTo(digest, said->event);
  } else {
    std::visit(
        [&digest]<typename Word>(const Word& word) {
          if constexpr (!std::is_same_v<Word, planner::NodeSaid>) AddFields(digest, word);
        },
        event);
  }
}

void AddTo(Digest& digest, const protocol::NodeEvent& event) {
  digest.Add(event.index());
  std::visit([&digest](const auto& message) { AddFields(digest, message); }, event);
}

void AddTo(Digest& digest, const protocol::NodeAction& action) {
  digest.Add(action.index());
  std::visit([&digest](const auto& message) { AddFields(digest, message); }, action);
}

}  // namespace hoplite::sim
