// hoplite reduce: makes one object of several, prints its id when it is final.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <hoplite/client.h>

#include "base/reduce_options.h"
#include "base/reduce_types.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress_bar.h"
#include "cli/timeouts.h"

namespace hoplite::cli {
namespace {

struct ReduceArguments {
  ReduceOptions reduce;
  Duration timeout = kNoTimeout;
  NodeSocket socket;
  bool json = false;
};

// CLI11 would take -1 for a very large number.
template <typename Number>
Result<Number> ParseNumber(const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument, fmt::format("'{}' is no number in range", text)));
}

// On a terminal: how much of the target is there, as the directory sees it.
void ShowProgress(Client& client, const Reduction& reduction) {
  constexpr std::chrono::milliseconds kLook(200);
  std::optional<ProgressBar> progress;
  while (!reduction.Wait(kLook) && !reduction.ready()) {
    const auto target = client.Info(reduction.target(), {.timeout = kAnswerTimeout});
    if (!target || target->size_bytes == 0) continue;
    if (!progress) progress.emplace("reduce", target->size_bytes);
    std::uint64_t most = 0;  // of several who make it, or read it already
    for (const HolderInfo& holder : target->holders) most = std::max(most, holder.valid_bytes);
    progress->Update(most);
  }
}

Json Hex(const std::vector<ObjectId>& ids) {
  Json texts = Json::array();
  for (const ObjectId& id : ids) texts.push_back(id.ToHex());
  return texts;
}

std::string OpNames() {
  std::vector<std::string_view> names;
  for (const Op op : AllOps()) names.push_back(Name(op));
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<void> RunReduce(const ReduceArguments& options) {
  const Deadline deadline(options.timeout);
  TRY_ASSIGN(Client client, Attach(options.socket, deadline));
  ReduceOptions reduce = options.reduce;
  reduce.timeout = deadline.left();
  reduce.alike = "";  // arrays that somebody described, as Python does, are not folded with others
  TRY_ASSIGN(const Reduction reduction, client.Reduce(reduce));
  if (::isatty(STDERR_FILENO) == 1) ShowProgress(client, reduction);
  TRY_ASSIGN(const ReduceOutcome outcome, reduction.Wait());
  if (!options.json) return Print(outcome.target.ToHex() + '\n');
  return Print(Json{{"target", outcome.target.ToHex()},
                    {"used", Hex(outcome.used)},
                    {"unused", Hex(outcome.unused)}});
}

}  // namespace

void AddReduce(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("reduce", "makes one object of several, prints its id");
  const auto options = std::make_shared<ReduceArguments>();
  ReduceOptions& reduce = options->reduce;
  AddParsed(*command, "--op", reduce.op, ParseOp, OpNames())->type_name("OP")->required();
  AddParsed(*command, "--dtype", reduce.dtype, ParseDType,
            "of the elements: float32, int64, bfloat16, ...; default that of the first source")
      ->type_name("DTYPE");
  AddSize(*command, "--folded", reduce.folded_bytes,
          "only so many bytes of each are elements, the rest is the same in all; default all");
  AddParsed(*command, "--num-objects", reduce.num_objects, ParseNumber<std::uint64_t>,
            "how many of the sources, those that come first; default all")
      ->type_name("K");
  AddId(*command, "--target", reduce.target, "the id of the result; default a random one");
  AddDuration(*command, "--timeout", options->timeout,
              "give up after this time, as 30s; without it never");
  AddParsed(*command, "--degree", reduce.degree, ParseNumber<std::uint32_t>,
            "the most children in the tree; 0 chooses")
      ->type_name("D");
  command->add_flag("--root-here", reduce.root_here, "the result is made at this node");
  command->add_flag("--fixed-order", reduce.fixed_order,
                    "fold in the order of the sources: the same bits each time");
  command->add_flag(
      "--everyone-reads", reduce.everyone_reads,
      "every node that holds a source reads the result, too: an allreduce, which they "
      "divide; not with --degree, --root-here, --fixed-order, which win");
  AddIds(*command, reduce.sources, "the sources: 40 hexadecimal digits each, or name:TEXT");
  AddSocket(*command, options->socket);
  AddJson(*command, options->json);
  command->callback([&chosen, options, command] {
    RequireSound(*command, CheckReduceOptions(options->reduce));
    chosen = [options] { return RunReduce(*options); };
  });
}

}  // namespace hoplite::cli
