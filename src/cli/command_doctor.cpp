// hoplite doctor: examines a cluster for its operator.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/diagnosis.h"
#include "cli/examination.h"
#include "cli/options.h"
#include "cli/output.h"
#include "net/security.h"

namespace hoplite::cli {
namespace {

// A member that does not answer within this time is what it is for.
constexpr std::chrono::seconds kDoctorTimeout(5);

struct DoctorArguments {
  std::vector<std::string> directory;
  std::string cluster;
  SecurityConfig security;
  Duration timeout = kDoctorTimeout;
  bool json = false;
};

std::string LineOf(const Finding& finding) {
  if (finding.ok) return fmt::format("ok  {}: {}\n", finding.subject, finding.what);
  return fmt::format("!!  {}: {}\n    {}\n", finding.subject, finding.what, finding.advice);
}

Json FindingsAsJson(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    Json one{{"ok", finding.ok}, {"subject", finding.subject}, {"what", finding.what}};
    if (!finding.ok) one["advice"] = finding.advice;
    list.push_back(std::move(one));
  }
  return {{"findings", std::move(list)}};
}

Result<ExitStatus> RunDoctor(const DoctorArguments& options) {
  TRY_ASSIGN(const net::SecurityPtr security,
             net::Security::Load(options.security, net::TlsRole::kNode, std::nullopt));
  const std::vector<Finding> findings = Diagnose(
      Examine(options.directory, options.cluster, security, options.timeout), HOPLITE_VERSION);
  std::string text;
  for (const Finding& finding : findings) text += LineOf(finding);
  TRY(options.json ? Print(FindingsAsJson(findings)) : Print(text));
  return std::ranges::all_of(findings, &Finding::ok) ? ExitStatus::kDone : ExitStatus::kFailed;
}

}  // namespace

void AddDoctor(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("doctor", "examines a cluster: each line is ok, or says what to do");
  const auto options = std::make_shared<DoctorArguments>();
  AddAddresses(*command, "--directory", options->directory, "all directory shards in order")
      ->required();
  command->add_option("--cluster", options->cluster, "name of the cluster")->type_name("NAME");
  AddSecurity(*command, options->security);
  AddAnswerTimeout(*command, options->timeout)->default_str("5s");
  AddJson(*command, options->json);
  command->callback([&chosen, options, command] {
    RequireSound(*command, options->security.Validate());
    chosen = [options] { return RunDoctor(*options); };
  });
}

}  // namespace hoplite::cli
