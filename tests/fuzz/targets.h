// The fuzz targets. Each is given any bytes, and makes of them what a stranger, a broken peer or
// client could say at one place where Hoplite listens; it ends the process when something breaks
// that must hold there. The same bytes give the same run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace hoplite::fuzz {

using Input = std::span<const std::uint8_t>;

void Text(Input input);       // ids, sizes, rates, times, addresses as people write them
void Frames(Input input);     // the data plane's frames and handshakes, both sides
void Server(Input input);     // a whole conversation with a node that serves
void Lane(Input input);       // a source that a node pulls from
void Messages(Input input);   // the directory's messages, and what its shard makes of them
void Directory(Input input);  // sessions and all events, in any order, reductions among them
void Reduction(Input input);  // a coordinator's planner, its shard, and what befalls them
void Session(Input input);    // a connection to a directory shard, in any pieces
void Local(Input input);      // a client of a node's local socket
void Tls(Input input);        // two members by TLS, and a network that harms what they say

inline void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}
// For a check that says in words what is wrong: it must have nothing to say.
inline void RequireNothing(const std::string& wrong) { Require(wrong.empty(), wrong); }

}  // namespace hoplite::fuzz
