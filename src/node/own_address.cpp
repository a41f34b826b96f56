#include "node/own_address.h"

#include <algorithm>

#include <asio/ip/address.hpp>
#include <fmt/format.h>

#include "base/shard_list.h"
#include "base/text.h"
#include "base/try.h"
#include "net/resolve.h"

namespace hoplite::node {
namespace {

bool IsLoopback(const std::string& address) {
  const auto target = ParseHostPort(address);
  if (!target) return false;
  asio::error_code no_number;
  const auto number = asio::ip::make_address(target->host, no_number);
  return no_number ? target->host == "localhost" : number.is_loopback();
}

}  // namespace

Result<std::string> AdvertisedAddress(const NodeConfig& config, const std::string& bound) {
  TRY_ASSIGN(HostPort address, ParseHostPort(bound));
  if (config.advertise.empty()) return address.ToString();
  address.host = config.advertise;
  if (const auto found = net::ResolveNow(address); !found) {
    return std::unexpected(
        Error(found.error().code,
              fmt::format("advertise: {}; peers would look for this node there: give a name that "
                          "every host resolves, or an address, as 10.0.0.7",
                          found.error().message)));
  }
  return address.ToString();
}

std::string WrongBesideDirectory(const std::string& address,
                                 const std::vector<std::string>& directory) {
  const auto here = [](const std::string& shard) {
    return std::ranges::all_of(MembersOf(shard), IsLoopback);
  };
  const auto elsewhere = std::ranges::find_if_not(directory, here);
  if (!IsLoopback(address) || elsewhere == directory.end()) return {};
  return fmt::format(
      "this node says that others reach it at {}, which no other host can, but the directory is at "
      "{}: give --listen or --advertise an address that other hosts reach",
      address, *elsewhere);
}

}  // namespace hoplite::node
