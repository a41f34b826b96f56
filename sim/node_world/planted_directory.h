// A node's link to the directory, with one rule broken: words that it loses on their way, so that
// neither side knows.
#pragma once

#include <memory>

#include "directory/directory_client.h"
#include "sim/node_world/planted_fault.h"

namespace hoplite::node_world {

// `link` itself where the fault is none of its.
std::unique_ptr<directory::DirectoryClient> WithPlanted(
    PlantedFault fault, std::unique_ptr<directory::DirectoryClient> link);

}  // namespace hoplite::node_world
