#include "cli/command_line.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/commands/sim_commands.h"

namespace hoplite::cli {
namespace {

struct Answer {
  ExitStatus status;
  std::string out;
  std::string err;
};

Answer Ask(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const ExitStatus status = Run(arguments, out, err, {AddSim});
  return {status, out.str(), err.str()};
}

// The error document that --json prints to standard output, alone there.
nlohmann::json ErrorOf(std::vector<std::string> arguments, ExitStatus expected) {
  if (std::ranges::find(arguments, "--json") == arguments.end()) arguments.emplace_back("--json");
  testing::internal::CaptureStdout();
  const Answer answer = Ask(arguments);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_EQ(answer.status, expected) << answer.err;
  EXPECT_EQ(std::ranges::count(printed, '\n'), 1) << printed;
  const auto document = nlohmann::json::parse(printed, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(document.is_object() && document.size() == 1 && document.contains("error"))
      << printed;
  if (!document.is_object()) return {};
  const auto error = document.value("error", nlohmann::json::object());
  EXPECT_EQ(error.size(), 2u) << printed;
  EXPECT_NE(answer.err.find(error.value("message", "?")), std::string::npos)
      << answer.err << printed;
  return error;
}

constexpr const char* kId = "00112233445566778899aabbccddeeff00112233";
constexpr const char* kNobody = "/nonexistent/hoplite.sock";

struct BadUsage {
  std::vector<std::string> arguments;
  std::string complaint;  // what the sentence must name
};

class Usage : public testing::TestWithParam<BadUsage> {};

TEST_P(Usage, IsRefusedWithStatusTwoAndASentence) {
  const Answer answer = Ask(GetParam().arguments);
  EXPECT_EQ(answer.status, ExitStatus::kUsage);
  EXPECT_NE(answer.err.find(GetParam().complaint), std::string::npos) << answer.err;
  EXPECT_EQ(answer.out, "");
}

TEST_P(Usage, IsADocumentForWhoAsksForJson) {
  EXPECT_EQ(ErrorOf(GetParam().arguments, ExitStatus::kUsage)["code"], "invalid_argument");
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, Usage,
    testing::Values(
        BadUsage{{}, "command"}, BadUsage{{"fly"}, "no such command: 'fly'"},
        BadUsage{{"statsu"}, "no such command: 'statsu'; the nearest is 'status'"},
        BadUsage{{"puts"}, "; the nearest is 'put'"}, BadUsage{{"dir"}, "nearest is 'directory'"},
        BadUsage{{"list"}, "no such command: 'list'\n"},
        BadUsage{{"put", "a", "b", "c", "d"}, "not expected: b c d"},
        BadUsage{{"--color", "put", "a"}, "not expected: --color"},
        BadUsage{{"directory", "--listen", "h:1", "--shards", "h:2,h:3"},
                 "directory: --shards: none of them has the port of --listen, 1"},
        BadUsage{{"put"}, "file"}, BadUsage{{"put", "f", "--id", "12zz"}, "12zz"},
        BadUsage{{"put", "f", "--color"}, "--color"}, BadUsage{{"put", "f", "--id"}, "--id"},
        BadUsage{{"get"}, "id"}, BadUsage{{"get", "nonsense"}, "nonsense"},
        BadUsage{{"get", kId, "--timeout", "soon"}, "soon"},
        BadUsage{{"get", kId, "--timeout", "-1s"}, "-1s"},
        BadUsage{{"get", kId, "--json"}, "--output"}, BadUsage{{"delete"}, "id"},
        BadUsage{{"delete", kId, "xyz"}, "xyz"}, BadUsage{{"info", "name"}, "name"},
        BadUsage{{"node", "--directory", "h:1"}, "--memory"},
        BadUsage{{"node", "--memory", "1GiB"}, "--directory"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "12XB"}, "12XB"},
        BadUsage{{"node", "--directory", "h", "--memory", "1GiB"}, "'h'"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--rate", "fast"}, "fast"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--stall", "soon"}, "soon"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--stall", "150ms"},
                 "--stall: must be longer than --keepalive"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--keepalive", "0"},
                 "--keepalive must be above zero"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--data-threads", "65"},
                 "node: --data-threads: 65"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--client-pins", "0"},
                 "--client-requests and --client-pins must be above zero"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--listen", "0.0.0.0:1"},
                 "--advertise: needed when listening on 0.0.0.0:1, since peers can't connect"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--socket", "",
                  "--socket-group", "a"},
                 "--socket-group: there is no --socket to be used"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1000KiB"},
                 "node: --memory: 1024000 bytes (1000.0 KiB) is below the least, 1.0 MiB"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--name", "a\nb"},
                 "name: must be UTF-8"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--name", "\xff"},
                 "name: must be UTF-8"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--cluster", "\xc0\xaf"},
                 "cluster: must be UTF-8"},
        BadUsage{{"directory", "--listen", "h:1", "--cluster", "a\tb"}, "cluster: must be UTF-8"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--advertise", "h:7000"},
                 "'h:7000' is no host: write HOST alone"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1GiB", "--advertise", "name:7000"},
                 "--advertise: 'name:7000' is no host"},
        BadUsage{{"directory", "--listen", "h:1", "--tls-ca", "a", "--tls-cert", "b"},
                 "--tls-key: --tls-ca, --tls-cert and --tls-key are needed together"},
        BadUsage{{"status", "--directory", "h:1", "--tls-ca", "a", "--tls-cert", "b", "--tls-key",
                  "c", "--secret-file", "d"},
                 "--secret-file: give either it or certificates"},
        BadUsage{{"directory", "--listen", "h:1", "--secret-file", ""},
                 "--secret-file: the name of the file is empty"},
        BadUsage{{"status", "--directory", "h:1", "--tls-cert", ""},
                 "--tls-cert: the name of the file is empty"},
        BadUsage{{"directory", "--listen", "h:1", "--lease", "200ms"},
                 "--lease: must be longer than --heartbeat"},
        BadUsage{{"directory", "--listen", "h:1", "--heartbeat", "-1s"}, "-1s"},
        BadUsage{{"directory", "--listen", "h:1", "--grace", "0"}, "grace must be above zero"},
        BadUsage{{"directory", "--listen", "h:1", "--tombstone", "x"}, "'x'"},
        BadUsage{{"directory", "--listen", "h:1", "--tombstone", "31999ms"},
                 "--tombstone: must not be shorter than --lease, --grace and --orphan-grace"},
        BadUsage{{"directory", "--listen", "127.0.0.1:0", "--tombstone", "9000h"},
                 "--tombstone: must not be longer than a year"},
        BadUsage{{"directory", "--listen", "h:1", "--inline-limit", "1MiB"},
                 "--inline-limit: at most 64.0 KiB"},
        BadUsage{{"node", "--directory", "h:1", "--memory", "1MiB", "--max-owned", "0"},
                 "--max-owned: must be above zero"},
        BadUsage{{"directory", "--listen", "h:1", "--inline-limit", "64KX"}, "64KX"},
        BadUsage{{"directory"}, "--listen"}, BadUsage{{"directory", "--listen", "7000"}, "7000"},
        BadUsage{{"status", "--directory", "a:1,b"}, "'b'"},
        BadUsage{{"reduce", "--op", "sum", "--folded", "8", kId}, "dtype"},
        BadUsage{{"reduce", "--dtype", "int8", kId}, "--op"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int8"}, "id"},
        BadUsage{{"reduce", "--op", "median", "--dtype", "int8", kId}, "'median'"},
        BadUsage{{"reduce", "--op", "mean", "--dtype", "int8", kId},
                 "mean works on floats, not on int8"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int32", "--folded", "6", kId},
                 "--folded is 6"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "float", kId}, "'float'"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "", kId}, "--dtype"},
        BadUsage{{"reduce", "--op", "xor", "--dtype", "float16", kId}, "float16"},
        BadUsage{{"reduce", "--op", "and", "--dtype", "bfloat16", kId}, "bfloat16"},
        BadUsage{{"reduce", "--op", "or", "--dtype", "float64", kId}, "float64"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int8", "--num-objects", "2", kId},
                 "reduce: --num-objects is 2"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int8", "--num-objects", "0", kId},
                 "--num-objects is 0"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int8", "--num-objects", "-1", kId}, "'-1'"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int8", "--degree", "2x", kId}, "'2x'"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int8", "--target", "x", kId}, "--target"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int8", kId, "nonsense"}, "nonsense"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int8", kId, kId}, "twice"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int8", "name:x", "name:x"},
                 "source name:x is listed twice"},
        BadUsage{{"reduce", "--op", "sum", "--dtype", "int8", "--target", kId, kId}, "target"},
        BadUsage{{"up", "--nodes", "0", "--memory", "1MiB"}, "--nodes"},
        BadUsage{{"up", "--nodes", "2"}, "--memory"}, BadUsage{{"sim"}, "command"},
        BadUsage{{"sim", "broadcast", "--nodes", "4"}, "--size"},
        BadUsage{{"sim", "reduce", "--nodes", "4"}, "--size"},
        BadUsage{{"sim", "allreduce", "--nodes", "4"}, "--size"},
        BadUsage{{"sim", "broadcast", "--nodes", "4", "--size", "1MiB", "--bandwidth", "10",
                  "--latency", "1us"},
                 "10"},
        BadUsage{{"sim", "broadcast", "--nodes", "4", "--size", "1MiB", "--bandwidth", "1gbit",
                  "--latency", "1us", "--kill-at", "3"},
                 "NODE@TIME"}));

class NobodyThere : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(NobodyThere, IsUnavailableWithStatusOne) {
  std::vector<std::string> arguments = GetParam();
  arguments.insert(arguments.end(), {"--socket", kNobody});
  const Answer answer = Ask(arguments);
  EXPECT_EQ(answer.status, ExitStatus::kFailed);
  EXPECT_TRUE(answer.err.starts_with("unavailable: ")) << answer.err;
  EXPECT_NE(answer.err.find(kNobody), std::string::npos) << answer.err;
}

TEST_P(NobodyThere, IsADocumentForWhoAsksForJson) {
  std::vector<std::string> arguments = GetParam();
  arguments.insert(arguments.end(), {"--socket", kNobody});
  if (arguments[0] == "get") arguments.insert(arguments.end(), {"--output", "/dev/null"});
  EXPECT_EQ(ErrorOf(arguments, ExitStatus::kFailed)["code"], "unavailable");
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, NobodyThere,
    testing::Values(std::vector<std::string>{"put", "/etc/passwd"},
                    std::vector<std::string>{"get", kId}, std::vector<std::string>{"get", "name:x"},
                    std::vector<std::string>{"delete", kId, "name:x"},
                    std::vector<std::string>{"info", kId}, std::vector<std::string>{"status"},
                    std::vector<std::string>{"reduce", "--op", "sum", "--dtype", "float32", kId}));

TEST(CommandLine, SeveralShardsAreOneListWithCommas) {
  const Answer answer = Ask({"status", "--directory", "127.0.0.1:1,127.0.0.1:2"});
  EXPECT_EQ(answer.status, ExitStatus::kFailed) << answer.err;
  EXPECT_TRUE(answer.err.starts_with("unavailable: ")) << answer.err;
}

TEST(CommandLine, SimulatedReductionsAnswerInJson) {
  for (const char* job : {"reduce", "allreduce"}) {
    testing::internal::CaptureStdout();
    const Answer answer = Ask({"sim", job, "--nodes", "8", "--size", "1MiB", "--bandwidth",
                               "10gbit", "--latency", "100us", "--everyone-reads", "--json"});
    const std::string printed = testing::internal::GetCapturedStdout();
    EXPECT_EQ(answer.status, ExitStatus::kDone) << answer.err;
    for (const char* key : {"seconds", "bound_seconds", "ratio", "depth", "events"}) {
      EXPECT_NE(printed.find(std::string("\"") + key + "\":"), std::string::npos) << key;
    }
    EXPECT_NE(printed.find("\"committed\":true"), std::string::npos) << printed;
  }
}

TEST(CommandLine, WhatOtherCommandsFailWithIsADocumentToo) {
  const std::string nowhere = "192.0.2.1:1";  // no address of this machine
  EXPECT_EQ(ErrorOf({"directory", "--insecure", "--listen", nowhere}, ExitStatus::kFailed)["code"],
            "unavailable");
  EXPECT_EQ(ErrorOf({"node", "--insecure", "--directory", "127.0.0.1:1", "--memory", "1MiB",
                     "--listen", nowhere},
                    ExitStatus::kFailed)["code"],
            "unavailable");
  EXPECT_EQ(ErrorOf({"demo", "/etc/hostname"}, ExitStatus::kFailed)["code"], "invalid_argument");
}

// It may be the name of a file.
TEST(CommandLine, JsonBehindTheOptionsIsNoOption) {
  testing::internal::CaptureStdout();
  const Answer answer = Ask({"put", "--socket", kNobody, "--", "--json"});
  EXPECT_EQ(answer.status, ExitStatus::kFailed);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(CommandLine, SimulatedReductionsNameBadOptions) {
  const Answer answer = Ask({"sim", "reduce", "--nodes", "8", "--size", "1MiB", "--bandwidth",
                             "10gbit", "--latency", "100us", "--num-objects", "9"});
  EXPECT_EQ(answer.status, ExitStatus::kFailed);
  EXPECT_NE(answer.err.find("num-objects must be at most the sources"), std::string::npos);
}

TEST(CommandLine, HelpNamesTheSettingsOfMembersWithTheirDefaults) {
  const Answer node = Ask({"node", "--help"});
  for (const char* flag :
       {"--stall TIME=700ms", "--keepalive TIME=200ms", "--data-threads",
        "--client-requests N=65536", "--client-pins N=65536", "--max-owned N=262144"}) {
    EXPECT_NE(node.out.find(flag), std::string::npos) << node.out;
  }
  const Answer directory = Ask({"directory", "--help"});
  for (const char* flag :
       {"--heartbeat TIME=200ms", "--lease TIME=1s", "--grace TIME=1s", "--recovery-window TIME=1s",
        "--orphan-grace TIME=30s", "--tombstone TIME=60s", "--inline-limit SIZE"}) {
    EXPECT_NE(directory.out.find(flag), std::string::npos) << directory.out;
  }
}

TEST(CommandLine, HelpAndVersionAreNoErrors) {
  const Answer version = Ask({"--version"});
  EXPECT_EQ(version.status, ExitStatus::kDone);
  EXPECT_TRUE(version.out.starts_with("hoplite ")) << version.out;
  const Answer help = Ask({"--help"});
  EXPECT_EQ(help.status, ExitStatus::kDone);
  for (const char* name : {"directory", "node", "put", "get", "delete", "reduce", "status", "info",
                           "up", "sim", "demo"}) {
    EXPECT_NE(help.out.find(name), std::string::npos) << name;
    EXPECT_EQ(Ask({name, "--help"}).status, ExitStatus::kDone) << name;
  }
}

TEST(CommandLine, TheDemoRefusesAFileThatIsTooSmallToWatch) {
  const Answer answer = Ask({"demo", "/etc/passwd"});
  EXPECT_EQ(answer.status, ExitStatus::kFailed);
  EXPECT_TRUE(answer.err.starts_with("invalid_argument: ")) << answer.err;
  EXPECT_EQ(Ask({"demo", "/nonexistent"}).status, ExitStatus::kFailed);
}

}  // namespace
}  // namespace hoplite::cli
