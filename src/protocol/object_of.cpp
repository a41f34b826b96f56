#include <variant>

#include "protocol/node_action.h"
#include "protocol/node_event.h"

namespace hoplite::protocol {

const ObjectId* ObjectOf(const NodeEvent& event) {
  return std::visit(
      [](const auto& said) -> const ObjectId* {
        if constexpr (requires { said.object; }) {
          return &said.object;
        } else {
          return nullptr;
        }
      },
      event);
}

const ObjectId& ObjectOf(const NodeAction& action) {
  return std::visit([](const auto& body) -> const ObjectId& { return body.object; }, action);
}

}  // namespace hoplite::protocol
