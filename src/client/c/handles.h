// What the handles of hoplite/c.h are, and how its functions answer.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <hoplite/c.h>
#include <hoplite/client.h>

#include "base/try.h"

struct hoplite_client {
  hoplite::Client client;
};

struct hoplite_draft {
  hoplite::Draft draft;
};

struct hoplite_buffer {
  hoplite::Buffer buffer;
};

struct hoplite_request {
  using Put = hoplite::Future<hoplite::ObjectId>;
  using Get = hoplite::Future<hoplite::Buffer>;
  using GetInto = hoplite::Future<std::uint64_t>;
  std::variant<Put, Get, GetInto, hoplite::Reduction> what;
  std::vector<hoplite::ObjectId> sources = {};  // of a reduction
};

struct hoplite_status {
  hoplite::ClusterStatus status;
};

struct hoplite_register {
  hoplite::Register opened;
};

struct hoplite_channel {
  hoplite::Channel channel;
};

struct hoplite_snapshot {
  hoplite::Snapshot snapshot;
};

struct hoplite_info {
  hoplite::ObjectInfo info;
};

struct hoplite_subscription {
  hoplite::Subscription subscription;
};

struct hoplite_drained {
  hoplite::DrainOutcome outcome;
};

namespace hoplite::c {

// Keeps the sentence for hoplite_last_error; gives the code.
int Fail(const Error& error) noexcept;

// What `body` gives, a Result<void>, as a code. No exception leaves it.
template <typename Body>
int Answer(Body&& body) noexcept {
  try {
    const Result<void> done = std::forward<Body>(body)();
    return done ? HOPLITE_OK : Fail(done.error());
  } catch (const std::bad_alloc&) {
    return Fail(Error(ErrorCode::kResourceExhausted, "no memory is left"));
  } catch (const std::exception& thrown) {
    return Fail(Error(ErrorCode::kInternal, thrown.what()));
  }
}

inline Result<void> NotNull() { return {}; }
// invalid_argument: names the first that is null. NotNull(client, "client", id, "id")
template <typename T, typename... Others>
Result<void> NotNull(T* pointer, const char* name, Others... others) {
  if (pointer != nullptr) return NotNull(others...);
  return Unexpected(Error(ErrorCode::kInvalidArgument, std::string(name) + " is NULL"));
}

// A new handle of the value; or the error.
template <typename Handle, typename T>
Result<void> Give(Result<T> made, Handle** handle) {
  return std::move(made).transform([&](T value) { *handle = new Handle{std::move(value)}; });
}

inline std::chrono::milliseconds Timeout(std::int64_t milliseconds) {
  return std::chrono::milliseconds(milliseconds);
}

inline ObjectId ToId(const hoplite_id& id) {
  std::array<std::uint8_t, ObjectId::kBytes> bytes;
  std::ranges::copy(id.bytes, bytes.begin());
  return ObjectId(bytes);
}

inline hoplite_id FromId(const ObjectId& id) {
  hoplite_id result;
  std::ranges::copy(id.bytes(), result.bytes);
  return result;
}

inline std::vector<ObjectId> ToIds(const hoplite_id* ids, std::size_t count) {
  std::vector<ObjectId> result;
  result.reserve(count);
  for (std::size_t i = 0; i < count; ++i) result.push_back(ToId(ids[i]));
  return result;
}

// A byte for each of `all`: 1 if it is among `some`.
inline void Mark(const std::vector<ObjectId>& all, const std::vector<ObjectId>& some,
                 std::uint8_t* marks) {
  const std::set<ObjectId> chosen(some.begin(), some.end());
  for (std::size_t i = 0; i < all.size(); ++i) marks[i] = chosen.contains(all[i]) ? 1 : 0;
}

inline CallOptions Options(unsigned flags, std::int64_t timeout_ms) {
  return {.only_if_owned = (flags & HOPLITE_ONLY_IF_OWNED) != 0, .timeout = Timeout(timeout_ms)};
}

// Of a put or a create; an id that is all zero becomes a random one.
PutOptions ForPut(const hoplite_id& id, const void* metadata, std::size_t metadata_size,
                  unsigned flags, std::int64_t timeout_ms);

// What hoplite_of gives: the number of the dtype.
inline constexpr unsigned kDTypeShift = 8;
inline constexpr unsigned kDTypeFlags = 0xffU << kDTypeShift;

// As CheckFlags, of a put or a create.
Result<void> CheckPutFlags(unsigned flags);
// invalid_argument: flags that this version does not know, or not in this call.
Result<void> CheckFlags(unsigned flags, unsigned known);

}  // namespace hoplite::c
