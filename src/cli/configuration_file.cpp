#include "cli/configuration_file.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hoplite::cli {
namespace {

constexpr const char* kFlag = "--config";

[[noreturn]] void Refuse(const std::string& file, const std::string& why) {
  throw CLI::ValidationError(kFlag, fmt::format("{}: {}", file, why));
}

std::vector<CLI::ConfigItem> ItemsOf(const std::string& file) {
  try {
    return CLI::ConfigTOML().from_file(file);
  } catch (const CLI::Error&) {
    Refuse(file, "can't be read");
  }
}

CLI::Option& OptionOf(CLI::App& command, const CLI::ConfigItem& item, const std::string& file) {
  if (!item.parents.empty())
    Refuse(file, "has a section, [" + item.parents.front() + "]: leave its line out");
  CLI::Option* option = command.get_option_no_throw("--" + item.name);
  if (option == nullptr || !option->get_configurable()) {
    Refuse(file, fmt::format("'{}' is no setting of hoplite {}", item.name, command.get_name()));
  }
  return *option;
}

// A flag that is false is one that was not given.
void Take(CLI::Option& option, const CLI::ConfigItem& item, const std::string& file) {
  if (item.inputs.empty()) Refuse(file, "'" + item.name + "' has no value");
  if (option.get_expected_max() > 0) {
    option.add_result(fmt::format("{}", fmt::join(item.inputs, ",")));
  } else if (item.inputs.front() == "true") {
    option.add_result("true");
  } else if (item.inputs.front() != "false") {
    Refuse(file, "'" + item.name + "' is true or false");
  }
}

}  // namespace

CLI::Option* AddConfigurationFile(CLI::App& command) {
  const auto read = [&command](const CLI::results_t& values) {
    const std::string& file = values.back();
    for (const CLI::ConfigItem& item : ItemsOf(file)) {
      CLI::Option& option = OptionOf(command, item, file);
      if (option.count() > 0) continue;  // the command line says otherwise
      Take(option, item, file);
    }
    return true;
  };
  return command.add_option(kFlag, read, "these options, in TOML; the command line has precedence")
      ->type_name("FILE")
      ->configurable(false);
}

}  // namespace hoplite::cli
