// What messages of reductions share: forms, lists and checks (message_fields.h).
#pragma once

#include <cstdint>
#include <string>

#include <hoplite/reduce.h>
#include <hoplite/result.h>

#include "base/layout.h"
#include "base/reduce_types.h"
#include "protocol/reduce_event.h"
#include "wire/field_forms.h"
#include "wire/message_fields.h"

namespace hoplite::wire {

// A number of the table of operations or dtypes.
bool ReadNumbered(const auto& from, const auto& numbered, auto& value) {
  if (!numbered) return from.Refuse("is wrong: " + numbered.error().message);
  value = *numbered;
  return true;
}
template <>
struct Form<Op> {
  static void Write(Op value, const auto& to) { to.set(static_cast<std::uint32_t>(value)); }
  static bool Read(const auto& from, Op& value) {
    return ReadNumbered(from, OpNumbered(from.get()), value);
  }
};
// 0 stands for none.
template <>
struct Form<DType> {
  static void Write(DType value, const auto& to) { to.set(static_cast<std::uint32_t>(value)); }
  static bool Read(const auto& from, DType& value) {
    value = {};
    return from.get() == 0 || ReadNumbered(from, DTypeNumbered(from.get()), value);
  }
};

std::string BeyondSlots(std::uint32_t slot, std::uint32_t least);
template <std::uint32_t least>
struct Slot : ByType {
  static bool Read(const auto& from, std::uint32_t& slot) {
    slot = from.get();
    return (slot >= least && slot <= protocol::kMaxSlots) || from.Refuse(BeyondSlots(slot, least));
  }
};

Result<void> CanBeFolded(const protocol::Fold& fold);
FIELDS(protocol::Fold, FIELD(op), FIELD(dtype), FIELD(sources), FIELD(folded_bytes),
       Check<CanBeFolded>());
Result<void> HasSources(const protocol::ShardFold& fold);
FIELDS(protocol::ShardFold, FIELD(sources, AtMost<protocol::ShardFold::kMostSources>), FIELD(fold),
       FIELD(metadata, Metadata), FIELD(alike, Maybe<Metadata>), Check<HasSources>());

FIELDS(protocol::SlotInput, FIELD(object), FIELD(version));
Result<void> HasOtherParents(const protocol::SlotOrder& order);
FIELDS(protocol::SlotOrder, FIELD(slot, Slot<1>), FIELD(parents, AtMost<kMaxStripes>),
       FIELD(stripes, Given), FIELD(children, Slot<0>), FIELD(node),
       FIELD(inputs, AtMost<kMaxReduceSources>), Check<HasOtherParents>());
FIELDS(protocol::PlannedOrder, FIELD(attempt), FIELD(order));

// What is folded are whole elements.
Result<void> CheckShape(const protocol::Fold& fold, const Layout& layout);
template <typename Word>
Result<void> HasWholeElements(const Word& word) {
  return CheckShape(word.fold, word.layout);
}
// `input` is the child that feeds a slot, or is lost to it.
template <typename Word>
Result<void> HasAnotherInput(const Word& word) {
  if (word.input != word.slot) return {};
  return Bad("input", "is the slot itself");
}

}  // namespace hoplite::wire
