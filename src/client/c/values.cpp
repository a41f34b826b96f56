// The C interface: registers and channels.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "client/c/handles.h"

using namespace hoplite;
using c::Answer;
using c::NotNull;

static_assert(HOPLITE_REGISTER_BYTES == kMaxRegisterBytes);

namespace {

void Fill(const RegisterEntry& from, hoplite_entry& entry) {
  entry = {};
  entry.incarnation = from.number.incarnation;
  entry.sequence = from.number.sequence;
  entry.has_writer = from.has_writer ? 1 : 0;
  entry.size = std::min<std::size_t>(from.value.size(), HOPLITE_REGISTER_BYTES);
  std::copy_n(from.value.begin(), entry.size, entry.value);
}

RegisterNumber NumberOf(const hoplite_entry* entry) {
  if (entry == nullptr) return {};
  return {entry->incarnation, entry->sequence};
}

Result<Part> ToPart(const hoplite_part& part) {
  TRY(NotNull(part.name, "a part's name"));
  if (part.size > 0) TRY(NotNull(part.data, "a part's data"));
  if (part.dimensions > 0) TRY(NotNull(part.shape, "a part's shape"));
  return Part{.name = part.name,
              .bytes = {static_cast<const std::byte*>(part.data), part.size},
              .dtype = part.dtype == nullptr ? "" : part.dtype,
              .shape = {part.shape, part.shape + part.dimensions}};
}

}  // namespace

int hoplite_register_open(hoplite_client* client, const char* name, std::int64_t timeout_ms,
                          hoplite_register** opened) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", name, "name", opened, "opened"));
    return c::Give(client->client.OpenRegister(name, c::Options(0, timeout_ms)), opened);
  });
}

int hoplite_register_get(hoplite_register* opened, std::int64_t timeout_ms, hoplite_entry* entry) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(opened, "opened", entry, "entry"));
    return opened->opened.Get(c::Options(0, timeout_ms)).transform([&](const RegisterEntry& got) {
      Fill(got, *entry);
    });
  });
}

int hoplite_register_compare_and_set(hoplite_register* opened, const hoplite_entry* expected,
                                     const void* value, size_t size, int writer,
                                     std::int64_t timeout_ms, int* written, hoplite_entry* entry) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(opened, "opened", written, "written", entry, "entry"));
    if (size > 0) TRY(NotNull(value, "value"));
    const std::string text(static_cast<const char*>(value), size);
    TRY_ASSIGN(
        const RegisterWrite outcome,
        opened->opened.CompareAndSet(NumberOf(expected), text,
                                     {.writer = writer != 0, .timeout = c::Timeout(timeout_ms)}));
    *written = outcome.written ? 1 : 0;
    Fill(outcome.entry, *entry);
    return {};
  });
}

int hoplite_register_changed(hoplite_register* opened, const hoplite_entry* after,
                             std::int64_t timeout_ms, hoplite_entry* entry) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(opened, "opened", entry, "entry"));
    return opened->opened.Changed(NumberOf(after), {.timeout = c::Timeout(timeout_ms)})
        .transform([&](const RegisterEntry& got) { Fill(got, *entry); });
  });
}

void hoplite_register_free(hoplite_register* opened) { delete opened; }

int hoplite_channel_open(hoplite_client* client, const char* name, std::uint32_t keep,
                         unsigned flags, std::int64_t timeout_ms, hoplite_channel** channel) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", name, "name", channel, "channel"));
    TRY(c::CheckFlags(flags, HOPLITE_TAKE_OVER | HOPLITE_DELTAS));
    const ChannelOptions options{.keep = keep,
                                 .take_over = (flags & HOPLITE_TAKE_OVER) != 0,
                                 .deltas = (flags & HOPLITE_DELTAS) != 0,
                                 .timeout = c::Timeout(timeout_ms)};
    return c::Give(client->client.OpenChannel(name, options), channel);
  });
}

int hoplite_channel_publish(hoplite_channel* channel, const hoplite_part* parts, size_t count,
                            std::int64_t timeout_ms, std::uint64_t* version) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(channel, "channel"));
    if (count > 0) TRY(NotNull(parts, "parts"));
    std::vector<Part> all;
    for (const hoplite_part& part : std::span(parts, count)) {
      TRY_ASSIGN(Part one, ToPart(part));
      all.push_back(std::move(one));
    }
    TRY_ASSIGN(const std::uint64_t number,
               channel->channel.Publish(all, {.timeout = c::Timeout(timeout_ms)}));
    if (version != nullptr) *version = number;
    return {};
  });
}

int hoplite_channel_get(hoplite_channel* channel, std::uint64_t at_least, std::int64_t timeout_ms,
                        hoplite_snapshot** snapshot) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(channel, "channel", snapshot, "snapshot"));
    return c::Give(channel->channel.Get({.at_least = at_least, .timeout = c::Timeout(timeout_ms)}),
                   snapshot);
  });
}

std::uint64_t hoplite_snapshot_version(const hoplite_snapshot* snapshot) {
  return snapshot == nullptr ? 0 : snapshot->snapshot.version();
}

size_t hoplite_snapshot_parts(const hoplite_snapshot* snapshot) {
  return snapshot == nullptr ? 0 : snapshot->snapshot.parts().size();
}

int hoplite_snapshot_part(const hoplite_snapshot* snapshot, size_t index, hoplite_part* part) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(snapshot, "snapshot", part, "part"));
    if (index >= snapshot->snapshot.parts().size()) {
      return Unexpected(Error(ErrorCode::kNotFound, "there is no part of this number"));
    }
    const Part& one = snapshot->snapshot.parts()[index];
    *part = {.name = one.name.c_str(),
             .data = one.bytes.data(),
             .size = one.bytes.size(),
             .dtype = one.dtype.c_str(),
             .shape = one.shape.data(),
             .dimensions = one.shape.size()};
    return {};
  });
}

void hoplite_snapshot_free(hoplite_snapshot* snapshot) { delete snapshot; }

void hoplite_channel_free(hoplite_channel* channel) { delete channel; }
