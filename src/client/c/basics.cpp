// The C interface: versions, errors, ids.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "client/c/handles.h"

namespace hoplite::c {
namespace {

thread_local std::string last_error;

static_assert(HOPLITE_INVALID_ARGUMENT == static_cast<int>(ErrorCode::kInvalidArgument));
static_assert(HOPLITE_NOT_FOUND == static_cast<int>(ErrorCode::kNotFound));
static_assert(HOPLITE_ALREADY_EXISTS == static_cast<int>(ErrorCode::kAlreadyExists));
static_assert(HOPLITE_DELETED == static_cast<int>(ErrorCode::kDeleted));
static_assert(HOPLITE_TIMEOUT == static_cast<int>(ErrorCode::kTimeout));
static_assert(HOPLITE_CANCELLED == static_cast<int>(ErrorCode::kCancelled));
static_assert(HOPLITE_RESOURCE_EXHAUSTED == static_cast<int>(ErrorCode::kResourceExhausted));
static_assert(HOPLITE_UNAVAILABLE == static_cast<int>(ErrorCode::kUnavailable));
static_assert(HOPLITE_PEER_LOST == static_cast<int>(ErrorCode::kPeerLost));
static_assert(HOPLITE_DATA_LOSS == static_cast<int>(ErrorCode::kDataLoss));
static_assert(HOPLITE_PROTOCOL == static_cast<int>(ErrorCode::kProtocol));
static_assert(HOPLITE_RECALLED == static_cast<int>(ErrorCode::kRecalled));
static_assert(HOPLITE_INTERNAL == static_cast<int>(ErrorCode::kInternal));
static_assert(HOPLITE_PUBLISHER_GONE == static_cast<int>(kLastErrorCode));
static_assert(kForever.count() == HOPLITE_FOREVER);

}  // namespace

int Fail(const Error& error) noexcept {
  try {
    last_error = error.message;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return static_cast<int>(error.code);
}

PutOptions ForPut(const hoplite_id& id, const void* metadata, std::size_t metadata_size,
                  unsigned flags, std::int64_t timeout_ms) {
  PutOptions options;
  options.id = ToId(id) == ObjectId() ? ObjectId::Random() : ToId(id);
  if (metadata != nullptr)
    options.metadata.assign(static_cast<const char*>(metadata), metadata_size);
  options.owned = (flags & HOPLITE_OWNED) != 0;
  options.only_if_owned = (flags & HOPLITE_ONLY_IF_OWNED) != 0;
  if (const unsigned dtype = (flags & kDTypeFlags) >> kDTypeShift; dtype != 0) {
    options.dtype = static_cast<DType>(dtype);
  }
  options.timeout = Timeout(timeout_ms);
  return options;
}

Result<void> CheckPutFlags(unsigned flags) {
  TRY(CheckFlags(flags, HOPLITE_OWNED | HOPLITE_ONLY_IF_OWNED | kDTypeFlags));
  const unsigned dtype = (flags & kDTypeFlags) >> kDTypeShift;
  if (dtype == 0 || SizeOf(static_cast<DType>(dtype)) != 0) return {};
  return Unexpected(Error(ErrorCode::kInvalidArgument, "hoplite_of was given no dtype"));
}

Result<void> CheckFlags(unsigned flags, unsigned known) {
  if ((flags & ~known) == 0) return {};
  return Unexpected(Error(ErrorCode::kInvalidArgument, "flags " + std::to_string(flags & ~known) +
                                                           " mean nothing in this call"));
}

}  // namespace hoplite::c

using namespace hoplite;

int hoplite_c_version(void) { return HOPLITE_C_VERSION; }

unsigned hoplite_of(const char* dtype) {
  const auto known = ParseDType(dtype != nullptr ? dtype : "");
  return known ? static_cast<unsigned>(*known) << c::kDTypeShift : c::kDTypeFlags;
}

const char* hoplite_version(void) { return HOPLITE_VERSION; }

const char* hoplite_error_name(int code) {
  if (code == HOPLITE_OK) return "ok";
  if (!std::in_range<std::uint8_t>(code)) return "unknown";
  const std::string_view name = Name(static_cast<ErrorCode>(code));
  // Name takes a code that it doesn't know for an internal error.
  return name == "internal" && code != HOPLITE_INTERNAL ? "unknown" : name.data();
}

const char* hoplite_last_error(void) { return c::last_error.c_str(); }

hoplite_id hoplite_id_random(void) { return c::FromId(ObjectId::Random()); }

hoplite_id hoplite_id_from_name(const char* name) {
  return c::FromId(name == nullptr ? ObjectId() : ObjectId::FromName(name));
}

int hoplite_id_parse(const char* text, hoplite_id* id) {
  return c::Answer([&]() -> Result<void> {
    TRY(c::NotNull(text, "text", id, "id"));
    TRY_ASSIGN(const ObjectId parsed, ObjectId::Parse(text));
    *id = c::FromId(parsed);
    return {};
  });
}

void hoplite_id_format(const hoplite_id* id, char text[HOPLITE_ID_TEXT]) {
  if (text == nullptr) return;
  constexpr char kDigits[] = "0123456789abcdef";
  for (const std::uint8_t byte : (id == nullptr ? ObjectId() : c::ToId(*id)).bytes()) {
    *text++ = kDigits[byte >> 4];
    *text++ = kDigits[byte & 15];
  }
  *text = '\0';
}
