// Options that several commands share, and options whose values are sizes, rates, times or ids. A
// value that can't be read is a usage error with the parser's sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <hoplite/config.h>
#include <hoplite/object_id.h>

#include "base/text.h"
#include "base/time.h"
#include "cli/node_socket.h"

namespace hoplite::cli {

// Reads option `flags` with `parse`, a function from text to Result<T>.
template <typename T, typename Parse>
CLI::Option* AddParsed(CLI::App& app, const std::string& flags, T& target, Parse parse,
                       const std::string& help) {
  const auto read = [&target, parse, flags](const CLI::results_t& values) {
    auto value = parse(values.back());
    if (!value) throw CLI::ValidationError(flags, value.error().message);
    target = *std::move(value);
    return true;
  };
  return app.add_option(flags, read, help);
}

CLI::Option* AddSize(CLI::App& app, const std::string& flags, std::uint64_t& target,
                     const std::string& help);
CLI::Option* AddRate(CLI::App& app, const std::string& flags, std::uint64_t& target,
                     const std::string& help);
CLI::Option* AddDuration(CLI::App& app, const std::string& flags, Duration& target,
                         const std::string& help);
// Adds a setting of a member that is given in whole milliseconds, with its default.
CLI::Option* AddTime(CLI::App& app, const std::string& flags, std::chrono::milliseconds& target,
                     const std::string& help);
// A usage error if the settings together make no sense. It names the command's options where the
// reason names the fields of the configuration that they set.
void RequireSound(const CLI::App& command, const Result<void>& valid);
CLI::Option* AddId(CLI::App& app, const std::string& flags, ObjectId& target,
                   const std::string& help);
CLI::Option* AddIds(CLI::App& app, std::vector<ObjectId>& targets, const std::string& help);
CLI::Option* AddAddress(CLI::App& app, const std::string& flags, std::string& target,
                        const std::string& help);
// Of shards (base/shard_list.h).
CLI::Option* AddAddresses(CLI::App& app, const std::string& flags,
                          std::vector<std::string>& targets, const std::string& help);

// --tls-ca, --tls-cert, --tls-key and --secret-file of who talks to members.
void AddSecurity(CLI::App& app, SecurityConfig& target);
// --cluster of a command that asks members: what their certificates, and its own, must name.
CLI::Option* AddCluster(CLI::App& app, std::optional<std::string>& target);
// The secret alone.
CLI::Option* AddSecretFile(CLI::App& app, std::string& target);
// --readable-secrets
void AddReadableSecrets(CLI::App& app, bool& target);
// Certificates, the secret, and --insecure of a member.
void AddMemberSecurity(CLI::App& app, SecurityConfig& target);

// --socket PATH, else HOPLITE_SOCKET, else the default that node, put and get share.
CLI::Option* AddSocket(CLI::App& app, std::string& target);
CLI::Option* AddSocket(CLI::App& app, NodeSocket& target);  // of a command that asks the node

// --timeout of a command that waits for nobody but its node and the directory.
CLI::Option* AddAnswerTimeout(CLI::App& app, Duration& target);

// Of a daemon that somebody starts for a time: nothing else ends it when that one is killed. The
// target is for StopSignal::WatchParent.
CLI::Option* AddExitWithParent(CLI::App& app, pid_t& target);

CLI::Option* AddJson(CLI::App& app, bool& target);

}  // namespace hoplite::cli
