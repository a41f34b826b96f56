// hoplite get: fetches an object into a file or to standard output, as it arrives.
#include <algorithm>
#include <memory>
#include <string>

#include <hoplite/client.h>

#include "base/try.h"
#include "base/units.h"
#include "cli/arrival.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/progress_bar.h"
#include "cli/timeouts.h"

namespace hoplite::cli {
namespace {

struct GetArguments {
  ObjectId id;
  std::string output = "-";
  bool only_if_owned = false;
  Duration timeout = kNoTimeout;
  NodeSocket socket;
  bool json = false;
};

Result<void> Receive(Reader& reader, OutputFile& output, const Deadline& deadline) {
  ProgressBar progress("get", reader.size(), output.descriptor());
  for (std::uint64_t done = 0; done < reader.size();) {
    // Not every block by itself: a system call for each would cost more than the copy.
    const std::uint64_t wanted = std::min(done + 256_KiB, reader.size());
    TRY_ASSIGN(const auto there, reader.WaitFor(wanted, deadline.left()));
    TRY(output.Write(there.subspan(done)));
    done = there.size();
    progress.Update(done);
  }
  TRY(reader.WaitFor(reader.size(), deadline.left()));
  return {};
}

// Gets an object that is larger than the node's store: the node passes the bytes on as they come,
// straight into the file. `why` says why the object is not at the node; it is the answer if nobody
// else has the object (the reduction that was to make it found no memory).
Result<std::uint64_t> GetLarger(OutputFile& output, Client& client, const ObjectId& id,
                                const Deadline& deadline, const Error& why) {
  const auto info = client.Info(id, {.timeout = deadline.left()});
  if (!info) {
    return std::unexpected(info.error().code == ErrorCode::kNotFound ? why : info.error());
  }
  // Somebody waits for it, and nobody has it.
  if (info->size_bytes == 0) return std::unexpected(why);
  TRY_ASSIGN(const FileMapping file, output.Map(info->size_bytes));
  const Arrival shown(client, id, info->size_bytes);
  TRY_ASSIGN(const std::uint64_t size,
             client.GetInto(id, file.bytes(), {.timeout = deadline.left()}));
  TRY(output.Resize(size));
  return size;
}

// Gives the size. If the object is replaced meanwhile, starts again with the new bytes, provided
// that what was written can be taken back.
Result<std::uint64_t> GetTo(OutputFile& output, Client& client, const GetArguments& options,
                            const Deadline& deadline) {
  for (;;) {
    Result<Reader> reader = client.Open(
        options.id, {.only_if_owned = options.only_if_owned, .timeout = deadline.left()});
    if (!reader && reader.error().code == ErrorCode::kResourceExhausted && output.regular()) {
      return GetLarger(output, client, options.id, deadline, reader.error());
    }
    if (!reader) return std::unexpected(reader.error());
    const Result<void> received = Receive(*reader, output, deadline);
    if (received) return reader->size();
    if (received.error().code != ErrorCode::kRecalled || !output.Restart()) {
      return std::unexpected(received.error());
    }
  }
}

Result<void> RunGet(const GetArguments& options) {
  const Deadline deadline(options.timeout);
  TRY_ASSIGN(Client client, Attach(options.socket, deadline));
  TRY_ASSIGN(OutputFile output, OutputFile::Open(options.output));
  TRY_ASSIGN(const std::uint64_t size, GetTo(output, client, options, deadline));
  TRY(output.Commit());
  if (!options.json) return {};
  return Print(Json{{"id", options.id.ToHex()}, {"size", size}, {"output", options.output}});
}

}  // namespace

void AddGet(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("get", "fetches an object, waiting until it exists");
  const auto options = std::make_shared<GetArguments>();
  AddId(*command, "id", options->id, "40 hexadecimal digits, or name:TEXT")->required();
  command->add_option("--output", options->output, "where to; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  AddDuration(*command, "--timeout", options->timeout,
              "give up after this time, as 30s; 0: take what is here; without it never");
  command->add_flag("--only-if-owned", options->only_if_owned,
                    "don't wait for what does not exist and nobody owns: it was deleted");
  AddSocket(*command, options->socket);
  AddJson(*command, options->json);
  command->callback([&chosen, options] {
    if (options->json && options->output == "-") {
      throw CLI::ValidationError("--json", "needs --output FILE: standard output is one document");
    }
    chosen = [options] { return RunGet(*options); };
  });
}

}  // namespace hoplite::cli
