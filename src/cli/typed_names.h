// Names that this command was given for ids, so that its errors show what was typed. Errors come
// from nodes and directories, which know ids only.
#pragma once

#include <string>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "cli/id_names.h"

namespace hoplite::cli {

// ObjectId::Parse, which also notes a name.
Result<ObjectId> ParseTypedId(const std::string& text);
// The same text with each id that was given as a name as it was given.
std::string WithTypedNames(const std::string& text);
const IdNames& TypedNames();
// Another command begins.
void ForgetTypedNames();

}  // namespace hoplite::cli
