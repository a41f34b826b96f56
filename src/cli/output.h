// What commands print: JSON documents whose names scripts rely on, and the same as text for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <hoplite/result.h>
#include <hoplite/status.h>

#include "cli/id_names.h"
#include "cli/transfer_rates.h"

namespace hoplite::cli {

using Json = nlohmann::ordered_json;

// To standard output, at once, so that a script behind a pipe can go on. An error if it is closed
// or full.
// Text of other machines steers no terminal: see PrintableText.
Result<void> Print(const std::string& text);
Result<void> PrintAsIs(const std::string& text);
Result<void> Print(const Json& document);  // in one line
std::string AsLine(const Json& document);
// At the end of a command: whether everything that was printed came through.
Result<void> CheckOutput();
// What went wrong with an output, by errno: resource_exhausted if there is no room.
Error OutputError(const std::string& path, const char* what);
// The line that a directory or node prints when it can be used; `socket` may be empty.
Json ReadyEvent(const std::string& role, const std::string& name, const std::string& address,
                const std::string& socket);

Json ToJson(const ProcessStatus& process);
Json ToJson(const ClusterStatus& status, const TransferRates& rates = {});
Json ToJson(const ObjectInfo& object, const TransferRates& rates = {});
// "held by H1:7000; H2:7000, H3:7000 stand by", of a shard that says so.
std::string MembersInWords(const ShardStatus& shard);
std::string ToText(const ClusterStatus& status, const TransferRates& rates = {});
// `names`: of ids that it speaks of.
std::string ToText(const ObjectInfo& object, const TransferRates& rates = {}, IdNames names = {});

}  // namespace hoplite::cli
