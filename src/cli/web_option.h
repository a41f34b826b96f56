// --web [HOST:]PORT of a directory: where its page is.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace hoplite::cli {

// A port alone is one of this machine only.
void AddWeb(CLI::App& command, std::string& address);

// For the end of a ready line; empty if there is no address.
std::string PageInWords(const std::string& address);

}  // namespace hoplite::cli
