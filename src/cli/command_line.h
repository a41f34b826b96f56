// The command line as a whole: reads the arguments, runs what they ask for, answers with the exit
// status.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "cli/command.h"

namespace hoplite::cli {

// Says on `err`, in these words, what went wrong. If --json is among the arguments, it also prints
// the error as a JSON document to the process's own standard output.
void Complain(const std::vector<std::string>& arguments, const Error& error,
              const std::string& words, std::ostream& err);

// `arguments` without the program's name. Help and version go to `out`, complaints to `err`; what a
// command prints goes to the process's own standard output. `more`: subcommands beside those of
// command.h.
ExitStatus Run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
               const std::vector<AddCommand>& more = {});

}  // namespace hoplite::cli
