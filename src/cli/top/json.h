// A picture as a JSON document whose names scripts and the page of a directory rely on.
#pragma once

#include "cli/output.h"
#include "cli/top/model.h"

namespace hoplite::cli::top {

Json ToJson(const Picture& picture);
Json ToJson(const ObjectRow& row);

}  // namespace hoplite::cli::top
