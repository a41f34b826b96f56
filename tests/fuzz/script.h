// What the other end of a stream says, made of a fuzzer's bytes: whole frames of any kind with any
// numbers, most of them plausible, and bytes that are no frames at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "fuzz/script_stream.h"
#include "wire/frame.h"

class FuzzedDataProvider;

namespace hoplite::fuzz {

inline constexpr std::uint64_t kCluster = 0xc1;
inline constexpr NodeId kSelf{2};  // the node under test
inline constexpr NodeId kPeer{1};  // who speaks

// The objects that scripts speak of.
ObjectId Object(std::size_t i);
inline constexpr std::size_t kObjects = 3;
inline constexpr Version kVersion{{1, 1}};

// Uses up all of `data`. `piece_of` makes a Data frame with its payload, where a script is that of
// a source.
using DataMaker = std::function<void(FuzzedDataProvider& data, std::vector<std::byte>& script)>;
std::vector<std::byte> ScriptOf(FuzzedDataProvider& data, const DataMaker& make_data = {});

// What is said between fetches: a Give, a Trace, a question for one.
void AppendRare(FuzzedDataProvider& data, std::vector<std::byte>& script);

}  // namespace hoplite::fuzz
