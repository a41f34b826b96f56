#include "base/reduce_options.h"

#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/reduce_types.h"
#include "base/try.h"

namespace hoplite {
namespace {

std::unexpected<Error> Wrong(std::string message) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, std::move(message)));
}

Result<void> CheckElements(const ReduceOptions& options) {
  if (!options.dtype) {
    if (options.folded_bytes != 0) return Wrong("folded_bytes needs a dtype");
    TRY(OpNumbered(static_cast<std::uint32_t>(options.op)));
    return {};
  }
  if (auto supported = Supports(options.op, *options.dtype); !supported) return supported;
  const std::size_t size = SizeOf(*options.dtype);
  if (options.folded_bytes % size == 0) return {};
  return Wrong(fmt::format("folded_bytes is {}, no multiple of the {} of {}", options.folded_bytes,
                           size, Name(*options.dtype)));
}

}  // namespace

Result<void> CheckReduceOptions(const ReduceOptions& options) {
  const std::size_t count = options.sources.size();
  const std::uint64_t wanted = options.num_objects.value_or(count);
  if (auto fits = CheckElements(options); !fits) return fits;
  if (count == 0) return Wrong("a reduction needs at least one source");
  if (count > kMaxReduceSources) {
    return Wrong(fmt::format("{} sources; {} is the limit", count, kMaxReduceSources));
  }
  std::set<ObjectId> seen;
  for (const ObjectId& source : options.sources) {
    if (source == ObjectId()) return Wrong("a source's id is all zero, which names no object");
    if (source == options.target) {
      return Wrong(fmt::format("the target {} is among the sources", source.ToHex()));
    }
    if (!seen.insert(source).second) {
      return Wrong(fmt::format("source {} is listed twice", source.ToHex()));
    }
  }
  if (wanted == 0) return Wrong("num_objects is 0; at least one source has to be used");
  if (wanted > count) {
    return Wrong(fmt::format("num_objects is {}, but there are {} sources", wanted, count));
  }
  if (options.fixed_order && wanted < count) {
    return Wrong(
        fmt::format("a fixed order needs all {} sources, num_objects is {}", count, wanted));
  }
  if (options.fixed_order && options.degree > 1) {
    return Wrong(
        fmt::format("a fixed order folds along a line; degree {} is none", options.degree));
  }
  for (const std::string& text : {options.metadata, options.alike.value_or("")}) {
    if (text.size() <= kMaxMetadataBytes) continue;
    return Wrong(
        fmt::format("metadata has {} bytes, {} is the limit", text.size(), kMaxMetadataBytes));
  }
  return {};
}

}  // namespace hoplite
