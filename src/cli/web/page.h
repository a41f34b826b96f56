// The page, as page.html has it.
#pragma once

#include <string_view>

namespace hoplite::cli::web {

std::string_view Page();

}  // namespace hoplite::cli::web
