#include "wire/reduce_fields.h"

#include <fmt/format.h>

#include <hoplite/reduce.h>

#include "base/reduce_types.h"
#include "base/try.h"
#include "wire/checked_fields.h"

namespace hoplite::wire {

void WriteFold(const protocol::Fold& fold, v1::Fold& to) {
  to.set_op(static_cast<std::uint32_t>(fold.op));
  to.set_dtype(static_cast<std::uint32_t>(fold.dtype));
  to.set_sources(fold.sources);
  to.set_folded_bytes(fold.folded_bytes);
}

void WriteShardFold(const protocol::ShardFold& fold, v1::ShardFold& to) {
  for (const ObjectId& source : fold.sources) to.add_sources(std::string(source.view()));
  WriteFold(fold.fold, *to.mutable_fold());
  to.set_metadata(fold.metadata);
  if (fold.alike) to.set_alike(*fold.alike);
}

void WriteOrder(const protocol::SlotOrder& order, v1::SlotOrder& to) {
  to.set_slot(order.slot);
  to.mutable_parents()->Assign(order.parents.begin(), order.parents.end());
  to.set_stripes(order.stripes);
  to.set_children(order.children);
  to.set_node(Raw(order.node));
  for (const protocol::SlotInput& input : order.inputs) {
    v1::SlotOrder::Input& added = *to.add_inputs();
    added.set_object(std::string(input.object.view()));
    WriteStamp(input.version, *added.mutable_version());
  }
}

namespace {

// What the field's number stands for.
template <typename Enum>
Result<Enum> InField(std::string_view field, const Result<Enum>& numbered) {
  if (!numbered) return Bad(field, "is wrong: " + numbered.error().message);
  return *numbered;
}

// Of a ShardFold the dtype may be 0.
Result<protocol::Fold> ReadAnyFold(const v1::Fold& message) {
  protocol::Fold fold;
  TRY_ASSIGN(fold.op, InField("op", OpNumbered(message.op())));
  fold.dtype = {};
  if (message.dtype() != 0) {
    TRY_ASSIGN(fold.dtype, InField("dtype", DTypeNumbered(message.dtype())));
    const auto fits = Supports(fold.op, fold.dtype);
    if (!fits) return Bad("op", "doesn't fit: " + fits.error().message);
  }
  fold.sources = message.sources();
  if (fold.sources < 1 || fold.sources > kMaxReduceSources) {
    return Bad("sources", fmt::format("is {}, beyond 1 to {}", fold.sources, kMaxReduceSources));
  }
  fold.folded_bytes = message.folded_bytes();
  return fold;
}

}  // namespace

Result<protocol::Fold> ReadFold(const v1::Fold& message) {
  TRY_ASSIGN(const protocol::Fold fold, ReadAnyFold(message));
  if (fold.dtype == DType{}) return Bad("dtype", "is missing");
  return fold;
}

Result<protocol::ShardFold> ReadShardFold(v1::ShardFold& message) {
  protocol::ShardFold fold;
  TRY_ASSIGN(fold.sources,
             ReadObjects(message.sources(), protocol::ShardFold::kMostSources, "sources"));
  if (fold.sources.empty()) return Bad("sources", "is empty");
  TRY_ASSIGN(fold.fold, ReadAnyFold(message.fold()));
  TRY_ASSIGN(fold.metadata, ReadMetadata(*message.mutable_metadata()));
  if (!message.has_alike()) return fold;
  TRY_ASSIGN(fold.alike, ReadMetadata(*message.mutable_alike()));
  return fold;
}

Result<Layout> ReadShape(const v1::Layout& message, const protocol::Fold& fold) {
  TRY_ASSIGN(const Layout layout, ReadLayout(message));
  if (fold.folded_bytes > layout.size_bytes) {
    return Bad("folded_bytes", fmt::format("is {} of {}", fold.folded_bytes, layout.size_bytes));
  }
  if (fold.folded_bytes % SizeOf(fold.dtype) != 0) {
    return Bad("folded_bytes",
               fmt::format("is {}, no whole number of {}", fold.folded_bytes, Name(fold.dtype)));
  }
  if (fold.folded_bytes != 0 || layout.size_bytes % SizeOf(fold.dtype) == 0) return layout;
  return Bad("layout", fmt::format("has {} bytes, no whole number of {}", layout.size_bytes,
                                   Name(fold.dtype)));
}

Result<std::uint32_t> ReadSlot(std::uint32_t slot, std::string_view field, std::uint32_t least) {
  if (slot >= least && slot <= protocol::kMaxSlots) return slot;
  return Bad(field, fmt::format("is {}, beyond {} to {}", slot, least, protocol::kMaxSlots));
}

Result<std::uint32_t> ReadInput(std::uint32_t input, std::uint32_t slot, std::uint32_t least) {
  if (input == slot) return Bad("input", "is the slot itself");
  return ReadSlot(input, "input", least);
}

namespace {

// Each has a stripe of its own of what the slot makes.
Result<std::vector<std::uint32_t>> ReadParents(const v1::SlotOrder& message, std::uint32_t slot) {
  if (message.parents_size() > static_cast<int>(kMaxStripes)) {
    return Bad("parents", fmt::format("has {} entries, an object at most {} stripes",
                                      message.parents_size(), kMaxStripes));
  }
  std::vector<std::uint32_t> parents;
  for (const std::uint32_t parent : message.parents()) {
    TRY_ASSIGN(parents.emplace_back(), ReadSlot(parent, "parent", 1));
    if (parent == slot) return Bad("parent", "is the slot itself");
  }
  return parents;
}

}  // namespace

Result<protocol::SlotOrder> ReadOrder(const v1::SlotOrder& message) {
  protocol::SlotOrder order;
  TRY_ASSIGN(order.slot, ReadSlot(message.slot(), "slot", 1));
  TRY_ASSIGN(order.parents, ReadParents(message, order.slot));
  order.stripes = message.stripes();
  if (order.stripes == 0) return Bad("stripes", "is empty");
  TRY_ASSIGN(order.children, ReadSlot(message.children(), "children", 0));
  order.node = NodeId{message.node()};
  if (message.inputs_size() > static_cast<int>(kMaxReduceSources)) {
    return Bad("inputs", fmt::format("has {} entries, a reduction at most {} sources",
                                     message.inputs_size(), kMaxReduceSources));
  }
  for (const v1::SlotOrder::Input& from : message.inputs()) {
    protocol::SlotInput input;
    TRY_ASSIGN(input.object, ReadObject(from.object()));
    TRY_ASSIGN(input.version, ReadStamp<Version>(from.version(), "version"));
    order.inputs.push_back(input);
  }
  return order;
}

}  // namespace hoplite::wire
