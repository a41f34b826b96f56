#include "cli/top/json.h"

#include <cstddef>
#include <optional>

#include "client/pictures.h"

namespace hoplite::cli::top {
namespace {

Json NumberOrNull(const std::optional<std::uint64_t>& number) {
  return number ? Json(*number) : Json();
}

Json ToJson(const NodeRow& row) {
  return {{"name", row.name},
          {"address", row.address},
          {"trouble", row.trouble},
          {"memory_bytes", row.memory_bytes},
          {"used_bytes", row.used_bytes},
          {"in_bytes_per_second", NumberOrNull(row.in_rate)},
          {"out_bytes_per_second", NumberOrNull(row.out_rate)},
          {"fetches", row.fetches},
          {"waits", row.waits},
          {"processors", row.processors ? Json(*row.processors) : Json()},
          {"process", cli::ToJson(client::ToProcessStatus(row.process))}};
}

}  // namespace

// As `hoplite info --json` has it, with the rates.
Json ToJson(const ObjectRow& row) {
  Json object = cli::ToJson(row.object);
  for (std::size_t i = 0; i < row.rates.size(); ++i) {
    if (row.rates[i]) object["transfers"][i]["bytes_per_second"] = *row.rates[i];
  }
  return object;
}

Json ToJson(const Picture& picture) {
  Json document{{"nodes", Json::array()},
                {"objects", Json::array()},
                {"object_count", picture.object_count},
                {"remarks", picture.remarks}};
  for (const NodeRow& row : picture.nodes) document["nodes"].push_back(ToJson(row));
  for (const ObjectRow& row : picture.objects) document["objects"].push_back(ToJson(row));
  if (!picture.followed) return document;
  if (*picture.followed) {
    document["followed"] = ToJson(**picture.followed);
  } else {
    document["followed"] = {{"error",
                             {{"code", Name(picture.followed->error().code)},
                              {"message", picture.followed->error().message}}}};
  }
  return document;
}

}  // namespace hoplite::cli::top
