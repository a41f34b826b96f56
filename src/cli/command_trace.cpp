// hoplite trace: what the members decided lately, as a file for Chrome's trace viewer.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/try.h"
#include "cli/chrome_trace.h"
#include "cli/command.h"
#include "cli/member_traces.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "net/security.h"

namespace hoplite::cli {
namespace {

// Members that are stopped are what it is for: nobody waits long for them.
constexpr std::chrono::seconds kTraceTimeout(5);

struct TraceArguments {
  ObjectId id;  // all zero: every object
  std::vector<std::string> directory;
  std::string cluster;
  SecurityConfig security;
  std::string output;
  Duration timeout = kTraceTimeout;
  bool json = false;
};

Result<void> WriteFile(const std::string& path, const Json& trace) {
  TRY_ASSIGN(OutputFile file, OutputFile::Open(path));
  const std::string text = AsLine(trace);
  TRY(file.Write(std::as_bytes(std::span(text))));
  return file.Commit();
}

// A line for each member.
std::string InWords(const std::vector<MemberTrace>& members) {
  std::string lines;
  for (const MemberTrace& member : members) {
    lines += member.decisions
                 ? fmt::format("{}: {} decisions\n", member.name, member.decisions->size())
                 : fmt::format("{}: {}\n", member.name, member.decisions.error().message);
  }
  return lines;
}

Json ToJson(const std::vector<MemberTrace>& members) {
  Json list = Json::array();
  for (const MemberTrace& member : members) {
    Json one{{"name", member.name}};
    if (member.decisions) {
      one["decisions"] = member.decisions->size();
    } else {
      one["error"] = {{"code", Name(member.decisions.error().code)},
                      {"message", member.decisions.error().message}};
    }
    list.push_back(std::move(one));
  }
  return {{"members", std::move(list)}};
}

Result<void> RunTrace(const TraceArguments& options) {
  TRY_ASSIGN(const net::SecurityPtr security,
             net::Security::Load(options.security, net::TlsRole::kNode, std::nullopt));
  const auto members = AskForTraces(options.directory, options.cluster, security, options.timeout);
  const auto answers = [](const MemberTrace& member) { return member.decisions.has_value(); };
  if (std::ranges::none_of(members, answers)) {
    return std::unexpected(
        Error(ErrorCode::kUnavailable, "no member answers: " + InWords(members)));
  }
  const auto only = options.id == ObjectId() ? std::nullopt : std::optional(options.id);
  TRY(WriteFile(options.output, ToChromeTrace(members, only)));
  if (options.output == "-") return {};
  return options.json ? Print(ToJson(members)) : Print(InWords(members));
}

}  // namespace

void AddTrace(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "trace", "writes what all members decided lately, for Chrome's trace viewer");
  const auto options = std::make_shared<TraceArguments>();
  AddId(*command, "id", options->id, "of this object only: 40 hexadecimal digits, or name:TEXT");
  AddAddresses(*command, "--directory", options->directory, "all directory shards in order")
      ->required();
  command->add_option("--cluster", options->cluster, "name of the cluster")->type_name("NAME");
  command->add_option("--output", options->output, "\"-\" is standard output")
      ->type_name("FILE")
      ->required();
  AddSecurity(*command, options->security);
  AddAnswerTimeout(*command, options->timeout);
  AddJson(*command, options->json);
  command->callback([&chosen, options, command] {
    RequireSound(*command, options->security.Validate());
    chosen = [options] { return RunTrace(*options); };
  });
}

}  // namespace hoplite::cli
