#include "client/convert.h"

#include <cstdint>
#include <string>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

namespace hoplite::client {
namespace {

// Bytes that are no id become the id that names nothing.
ObjectId ToId(const std::string& bytes) { return ObjectId::FromBytes(bytes).value_or(ObjectId()); }

std::vector<ObjectId> ToIds(const google::protobuf::RepeatedPtrField<std::string>& ids) {
  std::vector<ObjectId> read;
  read.reserve(static_cast<std::size_t>(ids.size()));
  for (const std::string& bytes : ids) read.push_back(ToId(bytes));
  return read;
}

}  // namespace

Error ToError(const v1::local::Error& message) {
  const auto code = static_cast<ErrorCode>(message.code());
  const bool known = code >= ErrorCode::kInvalidArgument && code <= kLastErrorCode;
  return {known ? code : ErrorCode::kInternal, message.message()};
}

ReduceOutcome ToReduceOutcome(const v1::local::Reduced& message, const ObjectId& target) {
  return {.target = target, .used = ToIds(message.used()), .unused = ToIds(message.unused())};
}

DrainOutcome ToDrainOutcome(const v1::local::Drained& message) {
  DrainOutcome outcome{
      .handed_on = message.handed_on(), .left_count = message.left_count(), .left = {}};
  for (const v1::local::Drained::Left& left : message.left()) {
    outcome.left.push_back({ToId(left.object()), ToError(left.why())});
  }
  return outcome;
}

}  // namespace hoplite::client
