#include "cli/typed_names.h"

#include <map>
#include <string_view>

#include "base/text.h"

namespace hoplite::cli {
namespace {

constexpr std::string_view kNamePrefix = "name:";

// By the id's digits. One thread reads the command line and tells the end.
std::map<std::string, std::string>& Typed() {
  static std::map<std::string, std::string> typed;
  return typed;
}

}  // namespace

Result<ObjectId> ParseTypedId(const std::string& text) {
  Result<ObjectId> id = ObjectId::Parse(text);
  if (id && text.starts_with(kNamePrefix) && IsPlainText(text)) Typed()[id->ToHex()] = text;
  return id;
}

std::string WithTypedNames(std::string text) {
  for (const auto& [digits, name] : Typed()) {
    for (std::size_t at = text.find(digits); at != std::string::npos;
         at = text.find(digits, at + name.size())) {
      text.replace(at, digits.size(), name);
    }
  }
  return text;
}

void ForgetTypedNames() { Typed().clear(); }

}  // namespace hoplite::cli
