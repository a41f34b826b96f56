#include "cli/output.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/text.h"

namespace hoplite::cli {
namespace {

Json ToJson(const HolderInfo& holder) {
  return {{"node", holder.node}, {"complete", holder.complete}, {"watermark", holder.valid_bytes}};
}

Json HoldersOf(const ObjectInfo& object) {
  Json holders = Json::array();
  for (const HolderInfo& holder : object.holders) holders.push_back(ToJson(holder));
  return holders;
}

Json ToJson(const TransferInfo& transfer) {
  return {{"object", transfer.object.ToHex()},
          {"from", transfer.from},
          {"to", transfer.to},
          {"watermark", transfer.valid_bytes}};
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string Share(std::uint64_t valid_bytes, std::uint64_t size_bytes) {
  const double share =
      size_bytes == 0 ? 1.0 : static_cast<double>(valid_bytes) / static_cast<double>(size_bytes);
  return fmt::format("{:.0f} %", share * 100);
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

std::string TransfersText(const ObjectInfo& object) {
  std::string text;
  for (const TransferInfo& transfer : object.transfers) {
    text += fmt::format("  {} -> {}  {}\n", transfer.from, transfer.to,
                        Share(transfer.valid_bytes, object.size_bytes));
  }
  return text;
}

}  // namespace

void Print(const Json& document) {
  // Names come from other machines: text that is no UTF-8 must not end the program.
  const auto text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

Json ReadyEvent(const std::string& role, const std::string& name, const std::string& address,
                const std::string& socket) {
  Json event = {{"event", "ready"}, {"role", role}};
  if (!name.empty()) event["name"] = name;
  event["address"] = address;
  if (!socket.empty()) event["socket"] = socket;
  return event;
}

Json ToJson(const ClusterStatus& status) {
  Json document = {
      {"nodes", Json::array()}, {"objects", Json::array()}, {"transfers", Json::array()}};
  for (const NodeStatus& node : status.nodes) {
    document["nodes"].push_back({{"name", node.name},
                                 {"address", node.address},
                                 {"alive", node.alive},
                                 {"memory_bytes", node.memory_bytes},
                                 {"used_bytes", node.used_bytes}});
  }
  for (const ObjectInfo& object : status.objects) {
    document["objects"].push_back(
        {{"id", object.id.ToHex()}, {"size", object.size_bytes}, {"holders", HoldersOf(object)}});
    for (const TransferInfo& transfer : object.transfers) {
      document["transfers"].push_back(ToJson(transfer));
    }
  }
  return document;
}

Json ToJson(const ObjectInfo& object) {
  Json document = {{"id", object.id.ToHex()},
                   {"size", object.size_bytes},
                   {"version", object.version},
                   {"metadata", Hex(object.metadata)},
                   {"in_directory", object.in_directory},
                   {"holders", HoldersOf(object)},
                   {"transfers", Json::array()},
                   {"waiters", Json::array()}};
  for (const TransferInfo& transfer : object.transfers) {
    document["transfers"].push_back(ToJson(transfer));
  }
  for (const WaiterInfo& waiter : object.waiters) {
    document["waiters"].push_back({{"node", waiter.node}, {"why", waiter.why}});
  }
  return document;
}

std::string ToText(const ClusterStatus& status) {
  std::string text = fmt::format("{} nodes\n", status.nodes.size());
  for (const NodeStatus& node : status.nodes) {
    text += fmt::format("  {:16} {:24} {}", node.name, node.address,
                        node.alive ? "alive" : "session interrupted");
    if (node.memory_bytes > 0) {
      text += fmt::format("  {} of {} used", FormatSize(node.used_bytes),
                          FormatSize(node.memory_bytes));
    }
    text += '\n';
  }
  text += fmt::format("{} objects\n", status.objects.size());
  for (const ObjectInfo& object : status.objects) {
    text += fmt::format("  {}  {}, held by {}\n", object.id.ToHex(), FormatSize(object.size_bytes),
                        HoldersText(object));
    text += TransfersText(object);
  }
  return text;
}

std::string ToText(const ObjectInfo& object) {
  std::string text = fmt::format(
      "id        {}\nsize      {} ({} bytes)\nversion   {}\nmetadata  {}\nheld by   {}\n",
      object.id.ToHex(), FormatSize(object.size_bytes), object.size_bytes,
      object.version.empty() ? "none yet" : object.version,
      object.metadata.empty() ? "none" : Hex(object.metadata), HoldersText(object));
  if (!object.transfers.empty()) text += "transfers\n" + TransfersText(object);
  if (!object.waiters.empty()) text += "waiting\n";
  for (const WaiterInfo& waiter : object.waiters) {
    text += fmt::format("  {}: {}\n", waiter.node, waiter.why);
  }
  return text;
}

}  // namespace hoplite::cli
