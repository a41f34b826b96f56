#include "cli/options.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/shard_list.h"
#include "cli/stop_signal.h"
#include "cli/typed_names.h"

namespace hoplite::cli {
namespace {

Result<std::string> ParseAddress(const std::string& text) {
  const auto address = ParseHostPort(text);
  if (!address) return std::unexpected(address.error());
  return text;
}

std::string TimeText(std::chrono::milliseconds time) {
  const bool whole_seconds = time.count() % 1000 == 0;
  return whole_seconds ? fmt::format("{}s", time.count() / 1000)
                       : fmt::format("{}ms", time.count());
}

Result<Duration> ParseTime(const std::string& text) {
  if (text == "0") return Duration(0);
  return ParseDuration(text);
}

}  // namespace

CLI::Option* AddSize(CLI::App& app, const std::string& flags, std::uint64_t& target,
                     const std::string& help) {
  return AddParsed(app, flags, target, ParseSize, help)->type_name("SIZE");
}

CLI::Option* AddRate(CLI::App& app, const std::string& flags, std::uint64_t& target,
                     const std::string& help) {
  return AddParsed(app, flags, target, ParseRate, help)->type_name("RATE");
}

CLI::Option* AddDuration(CLI::App& app, const std::string& flags, Duration& target,
                         const std::string& help) {
  return AddParsed(app, flags, target, ParseTime, help)->type_name("TIME");
}

CLI::Option* AddTime(CLI::App& app, const std::string& flags, std::chrono::milliseconds& target,
                     const std::string& help) {
  const auto parse = [](const std::string& text) -> Result<std::chrono::milliseconds> {
    const auto time = ParseTime(text);
    if (!time) return std::unexpected(time.error());
    return std::chrono::ceil<std::chrono::milliseconds>(*time);
  };
  return AddParsed(app, flags, target, parse, help)
      ->type_name("TIME")
      ->default_str(TimeText(target));
}

namespace {

// "--memory" for "memory_bytes", if the command has such an option; else empty.
std::string OptionFor(const CLI::App& command, std::string field) {
  if (field.empty()) return "";
  if (field == "requests_per_client") field = "client_requests";
  if (field == "pins_per_client") field = "client_pins";
  constexpr std::string_view kUnit = "_bytes";
  if (field.ends_with(kUnit)) field.resize(field.size() - kUnit.size());
  std::ranges::replace(field, '_', '-');
  std::string option = "--" + field;
  return command.get_option_no_throw(option) == nullptr ? "" : option;
}

// What is in single quotes is what was typed: it stays.
std::string WithOptions(const CLI::App& command, const std::string& message) {
  constexpr auto in_word = [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); };
  std::string text;
  bool quoted = false;
  for (auto at = message.begin(); at != message.end();) {
    const auto end = quoted ? at : std::find_if_not(at, message.end(), in_word);
    const std::string word(at, end);
    const std::string option = OptionFor(command, word);
    text += option.empty() ? word : option;
    if (end != message.end()) {
      const bool apostrophe = !word.empty();  // "can't"
      if (*end == '\'' && !apostrophe) quoted = !quoted;
      text += *end;
    }
    at = end == message.end() ? end : end + 1;
  }
  return text;
}

}  // namespace

void RequireSound(const CLI::App& command, const Result<void>& valid) {
  if (valid) return;
  throw CLI::ValidationError(command.get_name(), WithOptions(command, valid.error().message));
}

CLI::Option* AddId(CLI::App& app, const std::string& flags, ObjectId& target,
                   const std::string& help) {
  return AddParsed(app, flags, target, ParseTypedId, help)->type_name("ID");
}

CLI::Option* AddIds(CLI::App& app, std::vector<ObjectId>& targets, const std::string& help) {
  const auto read = [&targets](const CLI::results_t& values) {
    for (const std::string& value : values) {
      const auto id = ParseTypedId(value);
      if (!id) throw CLI::ValidationError("id", id.error().message);
      targets.push_back(*id);
    }
    return true;
  };
  return app.add_option("id", read, help)
      ->type_name("ID")
      ->expected(1, 1 << 20)
      ->allow_extra_args()
      ->required();
}

CLI::Option* AddAddress(CLI::App& app, const std::string& flags, std::string& target,
                        const std::string& help) {
  return AddParsed(app, flags, target, ParseAddress, help)->type_name("HOST:PORT");
}

CLI::Option* AddAddresses(CLI::App& app, const std::string& flags,
                          std::vector<std::string>& targets, const std::string& help) {
  const auto read = [&targets, flags](const CLI::results_t& values) {
    const Result<void> sound = CheckShards(values);
    if (!sound) throw CLI::ValidationError(flags, sound.error().message);
    targets = values;
    return true;
  };
  return app.add_option(flags, read, help)
      ->type_name("HOST:PORT[/...][,...]")
      ->delimiter(',')
      ->expected(1, 1 << 10)
      ->allow_extra_args(false);
}

namespace {

// An empty path would mean plain text, and may be that of a variable that is not set.
CLI::Option* AddFileOfTls(CLI::App& app, const std::string& flags, std::string& target,
                          const std::string& help) {
  const auto parse = [](const std::string& text) -> Result<std::string> {
    if (!text.empty()) return text;
    return std::unexpected(Error(ErrorCode::kInvalidArgument, "the name of the file is empty"));
  };
  return AddParsed(app, flags, target, parse, help)->type_name("FILE");
}

}  // namespace

void AddSecurity(CLI::App& app, SecurityConfig& target) {
  AddFileOfTls(app, "--tls-ca", target.tls_ca,
               "certificates of the authority of the cluster's members");
  AddFileOfTls(app, "--tls-cert", target.tls_cert,
               "this member's certificate; `hoplite certs` makes all");
  AddFileOfTls(app, "--tls-key", target.tls_key, "its private key");
  AddSecretFile(app, target.secret_file);
  AddReadableSecrets(app, target.readable_secrets);
}

CLI::Option* AddCluster(CLI::App& app, std::optional<std::string>& target) {
  return app.add_option("--cluster", target, "refuse certificates of members of another cluster")
      ->type_name("NAME");
}

void AddReadableSecrets(CLI::App& app, bool& target) {
  app.add_flag("--readable-secrets", target,
               "the key or the secret may be readable by others on this host, as a mounted "
               "Kubernetes Secret is");
}

CLI::Option* AddSecretFile(CLI::App& app, std::string& target) {
  return AddFileOfTls(app, "--secret-file", target,
                      "a secret that all members have, instead of certificates");
}

void AddMemberSecurity(CLI::App& app, SecurityConfig& target) {
  AddSecurity(app, target);
  app.add_flag("--insecure", target.insecure,
               "let everybody in who reaches its ports: for networks that are trusted");
}

CLI::Option* AddSocket(CLI::App& app, std::string& target) {
  target = DefaultSocketPath();
  return app.add_option("--socket", target, "the node's Unix socket")
      ->type_name("PATH")
      ->envname("HOPLITE_SOCKET")
      ->capture_default_str();
}

CLI::Option* AddSocket(CLI::App& app, NodeSocket& target) {
  return AddSocket(app, target.path)->each([&target](const std::string&) { target.named = true; });
}

CLI::Option* AddAnswerTimeout(CLI::App& app, Duration& target) {
  return AddDuration(app, "--timeout", target,
                     "give up when the node or the directory does not answer for so long")
      ->default_str("30s");
}

CLI::Option* AddExitWithParent(CLI::App& app, pid_t& target) {
  return app
      .add_option("--exit-with-parent", target,
                  "end when the process that started it ends, or the process PID")
      ->type_name("[PID]")
      ->expected(0, 1)
      ->default_str(std::to_string(StopSignal::kWhoStartedIt));
}

CLI::Option* AddJson(CLI::App& app, bool& target) {
  return app.add_flag("--json", target, "print one JSON document");
}

}  // namespace hoplite::cli
