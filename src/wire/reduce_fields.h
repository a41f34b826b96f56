// The fields that several messages of a reduction share: written, and read with checks, as in
// checked_fields.h.
#pragma once

#include <cstdint>
#include <string_view>

#include <hoplite/result.h>

#include "base/layout.h"
#include "hoplite/v1/directory.pb.h"
#include "protocol/reduce_event.h"

namespace hoplite::wire {

void WriteFold(const protocol::Fold& fold, v1::Fold& to);
void WriteShardFold(const protocol::ShardFold& fold, v1::ShardFold& to);
void WriteOrder(const protocol::SlotOrder& order, v1::SlotOrder& to);

Result<protocol::Fold> ReadFold(const v1::Fold& message);
Result<protocol::ShardFold> ReadShardFold(v1::ShardFold& message);
// Of what is folded: whole elements.
Result<Layout> ReadShape(const v1::Layout& message, const protocol::Fold& fold);
Result<std::uint32_t> ReadSlot(std::uint32_t slot, std::string_view field, std::uint32_t least);
// The child that feeds a slot, or is lost to it.
Result<std::uint32_t> ReadInput(std::uint32_t input, std::uint32_t slot, std::uint32_t least);
Result<protocol::SlotOrder> ReadOrder(const v1::SlotOrder& message);

}  // namespace hoplite::wire
