// A node's data plane, with one rule of whoever serves broken: what its streams send.
#pragma once

#include <memory>

#include "net/stream.h"
#include "sim/node_world/planted_fault.h"

namespace hoplite::node_world {

// `transport` itself, a net::SimTransport, where the fault is none of its.
std::unique_ptr<net::Transport> WithPlanted(PlantedFault fault,
                                            std::unique_ptr<net::Transport> transport);

}  // namespace hoplite::node_world
