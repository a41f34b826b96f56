#include "cli/typed_names.h"

#include <string_view>

#include "base/text.h"

namespace hoplite::cli {
namespace {

constexpr std::string_view kNamePrefix = "name:";

// One thread reads the command line and tells the end.
IdNames& Typed() {
  static IdNames typed;
  return typed;
}

}  // namespace

Result<ObjectId> ParseTypedId(const std::string& text) {
  Result<ObjectId> id = ObjectId::Parse(text);
  if (id && text.starts_with(kNamePrefix) && IsPlainText(text)) Typed().Add(*id, text);
  return id;
}

const IdNames& TypedNames() { return Typed(); }

std::string WithTypedNames(const std::string& text) { return Typed().In(text); }

void ForgetTypedNames() { Typed().Clear(); }

}  // namespace hoplite::cli
