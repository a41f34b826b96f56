#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "base/time.h"
#include "cli/ring.h"
#include "cli/tree.h"

namespace hoplite::cli {
namespace {

// "1 node", "2 nodes"
std::string Count(std::uint64_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

Json ToJson(const HolderInfo& holder) {
  return {{"node", holder.node}, {"complete", holder.complete}, {"watermark", holder.valid_bytes}};
}

Json HoldersOf(const ObjectInfo& object) {
  Json holders = Json::array();
  for (const HolderInfo& holder : object.holders) holders.push_back(ToJson(holder));
  return holders;
}

Json ToJson(const TransferInfo& transfer, const TransferRates& rates) {
  Json json = {{"object", transfer.object.ToHex()},
               {"from", transfer.from},
               {"to", transfer.to},
               {"watermark", transfer.valid_bytes}};
  if (const auto rate = rates.BytesPerSecond(transfer)) json["bytes_per_second"] = *rate;
  return json;
}

Json ToJson(const ClientsStatus& clients) {
  return {{"clients", clients.clients},
          {"requests", clients.requests},
          {"pins", clients.pins},
          {"most_requests", clients.most_requests},
          {"most_pins", clients.most_pins},
          {"requests_per_client", clients.requests_per_client},
          {"pins_per_client", clients.pins_per_client},
          {"owned", clients.owned},
          {"max_owned", clients.max_owned},
          {"most_held_bytes", clients.most_held_bytes},
          {"most_held_objects", clients.most_held_objects},
          {"quota_bytes", clients.quota_bytes},
          {"quota_objects", clients.quota_objects}};
}

// "of one process at most 10.0 MiB of 1.0 GiB in 3 of 100 objects"
std::string HeldInWords(const ClientsStatus& clients) {
  const auto bytes =
      clients.quota_bytes == 0 ? "" : fmt::format(" of {}", FormatSize(clients.quota_bytes));
  const auto objects =
      clients.quota_objects == 0 ? "" : fmt::format(" of {}", clients.quota_objects);
  return fmt::format("of one process at most {}{} in {}{} objects held",
                     FormatSize(clients.most_held_bytes), bytes, clients.most_held_objects,
                     objects);
}

std::string ToText(const ClientsStatus& clients) {
  return fmt::format(
      "{} of this node: {} under way, of one at most {} of {}; {}, of one at most {} of {}; "
      "{} of {} ids owned; {}\n",
      Count(clients.clients, "client"), Count(clients.requests, "request"), clients.most_requests,
      clients.requests_per_client, Count(clients.pins, "pin"), clients.most_pins,
      clients.pins_per_client, clients.owned, clients.max_owned, HeldInWords(clients));
}

// "  0.1.0, process of 21.4 MiB, 57 of 1024 descriptors, 12.3 s of processor time"; or nothing
std::string ProcessText(const ProcessStatus& process) {
  if (process.version.empty()) return "";
  return fmt::format("  {}, process of {}, {} of {} descriptors, {:.1f} s of processor time",
                     process.version, FormatSize(process.resident_bytes), process.descriptors,
                     process.descriptor_limit, ToSeconds(process.processor_time));
}

void AddReduction(const ObjectInfo& object, Json& reductions) {
  if (object.slots.empty()) return;
  Json slots = Json::array();
  for (const SlotInfo& slot : object.slots) {
    Json inputs = Json::array();
    for (const ObjectId& input : slot.inputs) inputs.push_back(input.ToHex());
    slots.push_back({{"slot", slot.slot},
                     {"parent", slot.parent},
                     {"parents", slot.parents},
                     {"stripes", slot.stripes},
                     {"node", slot.node},
                     {"inputs", std::move(inputs)},
                     {"watermark", slot.valid_bytes}});
  }
  reductions.push_back({{"target", object.id.ToHex()}, {"slots", std::move(slots)}});
}

// "reduced in this tree", and the tree.
std::string ReductionText(const ObjectInfo& object) {
  std::string text = IsRing(object.slots)
                         ? "reduced in this ring, in which each feeds the one below it\n"
                         : "reduced in this tree\n";
  for (const std::string& line : DrawReduction(object.slots, object.size_bytes)) {
    text += "    " + line + '\n';
  }
  return text;
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

// In one line, whatever the error says.
std::string FailureText(const Error& failure) {
  const std::string& message = failure.message;
  return fmt::format("failed    {}: {}", Name(failure.code), message.substr(0, message.find('\n')));
}

std::string HoldersText(const ObjectInfo& object) {
  std::string text = object.in_directory ? "the directory" : "";
  for (const HolderInfo& holder : object.holders) {
    if (!text.empty()) text += ", ";
    text += holder.complete
                ? holder.node
                : fmt::format("{} ({})", holder.node, Share(holder.valid_bytes, object.size_bytes));
  }
  return text.empty() ? "nobody" : text;
}

// "by clients of 2 nodes, until 5 s after these have died"
std::string OwnersText(const ObjectInfo& object) {
  if (!object.ever_owned) {
    return object.version.empty() ? "by nobody yet"
                                  : "by nobody, ever: it stays until it is deleted";
  }
  if (object.owners == 0) return "by nobody any more";
  std::string by = "by clients of " + Count(object.owners, "node");
  if (!object.grace) return by;
  if (object.grace->count() == 0) return by + ", until these have died";
  return fmt::format("{}, until {} s after these have died", by, ToSeconds(*object.grace));
}

std::string NumberText(const RegisterNumber& number) {
  return number ? fmt::format("{}.{}", number.incarnation, number.sequence) : "";
}

std::string RegisterText(const RegisterInfo& held) {
  const bool written = static_cast<bool>(held.number);
  return fmt::format("register  {}\nvalue     {}\nwriter    {}\nopen      at {}\n",
                     written ? "number " + NumberText(held.number) : "nobody wrote it yet",
                     held.value.empty() ? "none" : fmt::format("{:?}", held.value),
                     held.writer.empty() ? "none" : "a client of " + held.writer,
                     Count(held.nodes, "node"));
}

Json ToJson(const RegisterInfo& held) {
  return {{"number", NumberText(held.number)},
          {"value", Hex(held.value)},
          {"writer", held.writer},
          {"nodes", held.nodes}};
}

std::string SizeText(const ObjectInfo& object) {
  if (object.version.empty()) return "not known: nobody has put it yet";
  return fmt::format("{} ({} bytes)", FormatSize(object.size_bytes), object.size_bytes);
}

std::string TransfersText(const ObjectInfo& object, const TransferRates& rates) {
  std::string text;
  for (const TransferInfo& transfer : object.transfers) {
    text += fmt::format("  {} -> {}  {}{}\n", transfer.from, transfer.to,
                        Share(transfer.valid_bytes, object.size_bytes),
                        rates.ToText(transfer, object.size_bytes));
  }
  return text;
}

Json ToJson(const ShardStatus& shard) {
  if (!shard.away.empty()) return {{"away", shard.away}};
  Json moves = Json::object();
  for (const MovesStatus& one : shard.moves) moves[one.reason] = one.count;
  return {{"objects", shard.objects},
          {"inline_bytes", shard.inline_bytes},
          {"inline_total_bytes", shard.inline_total_bytes},
          {"most_queued_bytes", shard.most_queued_bytes},
          {"most_queued_node", shard.most_queued_node},
          {"session_queue_bytes", shard.session_queue_bytes},
          {"held_by", shard.held_by},
          {"stand_by", shard.stand_by},
          {"silent", shard.silent},
          {"moves", moves},
          {"process", cli::ToJson(shard.process)}};
}

// "; moved 3 streams: faster 2, lost 1", or nothing
std::string MovesText(const ShardStatus& shard) {
  std::uint64_t sum = 0;
  std::vector<std::string> parts;
  for (const auto& [reason, count] : shard.moves) {
    if (count == 0) continue;
    sum += count;
    parts.push_back(fmt::format("{} {}", reason, count));
  }
  if (sum == 0) return "";
  return fmt::format("; moved {}: {}", Count(sum, "stream"), fmt::join(parts, ", "));
}

// "  shard 0: held by H1:7000; H2:7000, H3:7000 stand by", or nothing
std::string MembersText(std::size_t index, const ShardStatus& shard) {
  if (shard.held_by.empty()) return "";
  return fmt::format("  shard {}: {}\n", index, MembersInWords(shard));
}

// "  shard 1: 64 B of 256.0 MiB for small objects and metadata; 2.0 MiB of 64.0 MiB wait for n3,
// which has most; moved 1 stream: faster 1"
std::string LimitsText(std::size_t index, const ShardStatus& shard) {
  if (!shard.away.empty()) {
    return fmt::format("  shard {}: its objects are missing here: {}\n", index, shard.away);
  }
  const std::string queue =
      shard.most_queued_node.empty()
          ? fmt::format("nothing of {} waits for a node", FormatSize(shard.session_queue_bytes))
          : fmt::format("{} of {} wait for {}, which has most", FormatSize(shard.most_queued_bytes),
                        FormatSize(shard.session_queue_bytes), shard.most_queued_node);
  return fmt::format("{}  shard {}: {} of {} for small objects and metadata; {}{}{}\n",
                     MembersText(index, shard), index, FormatSize(shard.inline_bytes),
                     FormatSize(shard.inline_total_bytes), queue, MovesText(shard),
                     ProcessText(shard.process));
}

// "1000000 objects on 2 shards: 500020, 499980; 16 MiB in the directory", and each shard's limits
std::string ObjectsText(const ClusterStatus& status) {
  std::string text = Count(status.object_count(), "object");
  std::uint64_t inline_bytes = 0;
  for (const ShardStatus& shard : status.shards) inline_bytes += shard.inline_bytes;
  if (status.shards.size() > 1) {
    std::vector<std::string> counts;
    for (const ShardStatus& shard : status.shards) {
      counts.push_back(shard.away.empty() ? std::to_string(shard.objects) : "?");
    }
    text += fmt::format(" on {} shards: {}", counts.size(), fmt::join(counts, ", "));
  }
  if (inline_bytes > 0) text += fmt::format("; {} in the directory", FormatSize(inline_bytes));
  text += '\n';
  for (std::size_t i = 0; i < status.shards.size(); ++i) text += LimitsText(i, status.shards[i]);
  return text;
}

}  // namespace

std::string MembersInWords(const ShardStatus& shard) {
  const auto part = [](const std::vector<std::string>& members, const char* one,
                       const char* more) -> std::string {
    if (members.empty()) return "";
    return fmt::format("; {} {}", fmt::join(members, ", "), members.size() == 1 ? one : more);
  };
  return fmt::format("held by {}{}{}", shard.held_by, part(shard.stand_by, "stands by", "stand by"),
                     part(shard.silent, "is silent", "are silent"));
}

Error OutputError(const std::string& path, const char* what) {
  const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
  const char* const why = errno == EBADF ? "it is closed" : std::strerror(errno);
  return {full ? ErrorCode::kResourceExhausted : ErrorCode::kInvalidArgument,
          path == "-" ? fmt::format("can't {} standard output: {}", what, why)
                      : fmt::format("can't {} '{}': {}", what, path, why)};
}

Result<void> PrintAsIs(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return {};
  return std::unexpected(OutputError("-", "write"));
}

std::string AsLine(const Json& document) {
  // Names come from other machines: text that is no UTF-8 must not end the program.
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<void> Print(const std::string& text) { return PrintAsIs(PrintableText(text)); }

Result<void> Print(const Json& document) { return PrintAsIs(AsLine(document) + '\n'); }

Result<void> CheckOutput() {
  if (std::ferror(stdout) == 0 && std::fflush(stdout) == 0) return {};
  return std::unexpected(
      Error(ErrorCode::kResourceExhausted, "not all output could be written to standard output"));
}

Json ReadyEvent(const std::string& role, const std::string& name, const std::string& address,
                const std::string& socket) {
  Json event = {{"event", "ready"}, {"role", role}};
  if (!name.empty()) event["name"] = name;
  event["address"] = address;
  if (!socket.empty()) event["socket"] = socket;
  return event;
}

Json ToJson(const ProcessStatus& process) {
  return {{"version", process.version},
          {"resident_bytes", process.resident_bytes},
          {"descriptors", process.descriptors},
          {"descriptor_limit", process.descriptor_limit},
          {"processor_us", process.processor_time.count()}};
}

Json ToJson(const ClusterStatus& status, const TransferRates& rates) {
  Json document = {{"nodes", Json::array()},
                   {"objects", Json::array()},
                   {"transfers", Json::array()},
                   {"reductions", Json::array()},
                   {"shards", Json::array()}};
  for (const ShardStatus& shard : status.shards) document["shards"].push_back(ToJson(shard));
  for (const NodeStatus& node : status.nodes) {
    document["nodes"].push_back({{"name", node.name},
                                 {"address", node.address},
                                 {"alive", node.alive},
                                 {"memory_bytes", node.memory_bytes},
                                 {"used_bytes", node.used_bytes},
                                 {"bytes_per_second", node.bytes_per_second},
                                 {"rate_age_us", node.rate_age.count()},
                                 {"round_trip_us", node.round_trip.count()},
                                 {"corrupt_blocks", node.corrupt_blocks},
                                 {"disk_bytes", node.disk_bytes},
                                 {"disk_used_bytes", node.disk_used_bytes},
                                 {"process", ToJson(node.process)}});
  }
  for (const ObjectInfo& object : status.objects) {
    document["objects"].push_back({{"id", object.id.ToHex()},
                                   {"name", object.name},
                                   {"size", object.size_bytes},
                                   {"holders", HoldersOf(object)}});
    for (const TransferInfo& transfer : object.transfers) {
      document["transfers"].push_back(ToJson(transfer, rates));
    }
    AddReduction(object, document["reductions"]);
  }
  if (status.clients.clients > 0) document["clients"] = ToJson(status.clients);
  return document;
}

Json ToJson(const ObjectInfo& object, const TransferRates& rates) {
  Json document = {{"id", object.id.ToHex()},
                   {"name", object.name},
                   {"size", object.size_bytes},
                   {"version", object.version},
                   {"metadata", Hex(object.metadata)},
                   {"dtype", object.dtype ? Json(Name(*object.dtype)) : Json()},
                   {"failure", object.failure ? Json(object.failure->ToString()) : Json()},
                   {"in_directory", object.in_directory},
                   {"ever_owned", object.ever_owned},
                   {"owners", object.owners},
                   {"grace", object.grace ? Json(ToSeconds(*object.grace)) : Json()},
                   {"register", object.as_register ? ToJson(*object.as_register) : Json()},
                   {"holders", HoldersOf(object)},
                   {"transfers", Json::array()},
                   {"waiters", Json::array()},
                   {"reductions", Json::array()}};
  for (const TransferInfo& transfer : object.transfers) {
    document["transfers"].push_back(ToJson(transfer, rates));
  }
  for (const WaiterInfo& waiter : object.waiters) {
    document["waiters"].push_back({{"node", waiter.node}, {"why", waiter.why}});
  }
  AddReduction(object, document["reductions"]);
  return document;
}

std::string ToText(const ClusterStatus& status, const TransferRates& rates) {
  IdNames names;
  for (const ObjectInfo& object : status.objects) names.Add(object);
  std::string text = Count(status.nodes.size(), "node") + '\n';
  for (const NodeStatus& node : status.nodes) {
    text += fmt::format("  {:16} {:24} {}", node.name, node.address,
                        node.alive ? "alive" : "session interrupted");
    if (node.memory_bytes > 0) {
      text += fmt::format("  {} of {} used", FormatSize(node.used_bytes),
                          FormatSize(node.memory_bytes));
    }
    if (node.disk_bytes > 0) {
      text += fmt::format(", {} of {} of its disk", FormatSize(node.disk_used_bytes),
                          FormatSize(node.disk_bytes));
    }
    if (node.bytes_per_second > 0) {
      text +=
          fmt::format("  link {:.0f} Mbit/s{}", static_cast<double>(node.bytes_per_second) / 125e3,
                      FormatAge(node.rate_age));
    }
    if (node.round_trip.count() > 0) {
      text += fmt::format(", round trip {} us", node.round_trip.count());
    }
    if (node.corrupt_blocks > 0) {
      text += fmt::format("  {} came in", Count(node.corrupt_blocks, "corrupt block"));
    }
    text += ProcessText(node.process) + '\n';
  }
  if (status.clients.clients > 0) text += ToText(status.clients);
  text += ObjectsText(status);
  for (const ObjectInfo& object : status.objects) {
    if (object.failure) {
      text += fmt::format("  {}  {}\n", object.id.ToHex(), FailureText(*object.failure));
      continue;
    }
    text += fmt::format("  {}  {}, held by {}\n", object.id.ToHex(), FormatSize(object.size_bytes),
                        HoldersText(object));
    text += TransfersText(object, rates);
    if (!object.slots.empty()) text += "    is " + ReductionText(object);
  }
  const std::uint64_t count = status.object_count();
  if (count > status.objects.size()) {
    text += fmt::format("  … and {} more\n", count - status.objects.size());
  }
  return names.In(text);
}

std::string ToText(const ObjectInfo& object, const TransferRates& rates, IdNames names) {
  if (object.as_register && object.version.empty() && object.waiters.empty()) {
    return RegisterText(*object.as_register);
  }
  names.Add(object);
  const std::string head = fmt::format("id        {}\nname      {}\n", object.id.ToHex(),
                                       names.Knows(object.id) ? names.Of(object.id) : "not known");
  std::string text = fmt::format(
      "size      {}\ndtype     {}\nversion   {}\nmetadata  {}\nheld by   {}\n"
      "owned     {}\n",
      SizeText(object), object.dtype ? Name(*object.dtype) : "not noted",
      object.version.empty() ? "none yet" : object.version,
      object.metadata.empty() ? "none" : Hex(object.metadata), HoldersText(object),
      OwnersText(object));
  if (object.failure) text += FailureText(*object.failure) + '\n';
  if (!object.transfers.empty()) text += "transfers\n" + TransfersText(object, rates);
  if (!object.slots.empty()) text += ReductionText(object);
  if (!object.waiters.empty()) text += "waiting\n";
  for (const WaiterInfo& waiter : object.waiters) {
    text += fmt::format("  {}: {}\n", waiter.node, waiter.why);
  }
  if (object.as_register) text += RegisterText(*object.as_register);
  return head + names.In(text);
}

}  // namespace hoplite::cli
