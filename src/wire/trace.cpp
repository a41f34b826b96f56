#include "wire/trace.h"

#include <array>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "wire/byte_codec.h"

namespace hoplite::wire {
namespace {

std::unexpected<Error> NoTrace(std::string what) {
  return std::unexpected(Error(ErrorCode::kProtocol, std::move(what)));
}

std::uint64_t Microseconds(auto duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::byte> EncodeTrace(const std::vector<Recorded>& recorded, Time now,
                                   std::uint64_t since_epoch_us) {
  std::vector<std::byte> bytes;
  Writer out(bytes);
  for (const Recorded& one : recorded) {
    out.Put(since_epoch_us - Microseconds(now - one.when));
    out.PutText(one.object.view()).Put(static_cast<std::uint8_t>(one.what));
    out.Put(static_cast<std::uint8_t>(one.text.size())).PutText(one.text);
  }
  return bytes;
}

std::vector<std::byte> EncodeTrace(const std::vector<Recorded>& recorded) {
  const auto today = std::chrono::system_clock::now().time_since_epoch();
  return EncodeTrace(recorded, Now(), Microseconds(today));
}

Result<std::vector<TraceEntry>> DecodeTrace(std::span<const std::byte> bytes) {
  std::vector<TraceEntry> entries;
  Reader in(bytes);
  while (!in.at_end()) {
    TraceEntry entry;
    entry.since_epoch_us = in.Get<std::uint64_t>();
    const auto object = in.GetBytes(ObjectId::kBytes);
    const auto what = in.Get<std::uint8_t>();
    const auto text = in.GetBytes(in.Get<std::uint8_t>());
    if (in.failed()) return NoTrace("a trace that ends within a decision");
    entry.what = static_cast<Decided>(what);
    if (Name(entry.what).empty()) return NoTrace(fmt::format("unknown decision {}", what));
    std::array<std::uint8_t, ObjectId::kBytes> id;
    std::memcpy(id.data(), object.data(), id.size());
    entry.object = ObjectId(id);
    entry.text = TextOf(text);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace hoplite::wire
