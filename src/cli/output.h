// What commands print: JSON documents whose names scripts rely on, and the same as text for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <hoplite/status.h>

namespace hoplite::cli {

using Json = nlohmann::ordered_json;

// One document, one line, at once, so that a script behind a pipe can go on.
void Print(const Json& document);
// The line that a directory or node prints when it can be used; `socket` may be empty.
Json ReadyEvent(const std::string& role, const std::string& name, const std::string& address,
                const std::string& socket);

Json ToJson(const ClusterStatus& status);
Json ToJson(const ObjectInfo& object);
std::string ToText(const ClusterStatus& status);
std::string ToText(const ObjectInfo& object);

}  // namespace hoplite::cli
