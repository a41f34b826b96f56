// What to reduce, and what became of it: plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/forever.h>
#include <hoplite/object_id.h>
#include <hoplite/reduce.h>

namespace hoplite {

inline constexpr std::size_t kMaxReduceSources = 16384;

struct ReduceOptions {
  // Arrays of `dtype`, all of the same size; they need not exist yet. At most kMaxReduceSources.
  std::vector<ObjectId> sources = {};
  Op op = Op::kSum;
  DType dtype = DType::kFloat32;
  // How many of the sources: those that become available first. Empty: all.
  std::optional<std::uint64_t> num_objects = {};
  ObjectId target = {};  // all zero: a random one
  // Of the target, at most 4 KiB; empty: that of the first listed source.
  std::string metadata = {};
  // The target's first complete copy is made on the node that is asked.
  bool root_here = false;
  // Fold in the order of `sources`, so that sums of floats have the same bits each time; needs all
  // sources, and folds along a line.
  bool fixed_order = false;
  // The most children of a slot in the tree: 1 is a line, 2 a binary tree. 0: the one with the
  // least predicted time.
  std::uint32_t degree = 0;
  // Of the whole reduction, not of one Wait: after it nobody will see the target.
  std::chrono::milliseconds timeout = kForever;
};

// In the order of the options' sources.
struct ReduceOutcome {
  ObjectId target;
  std::vector<ObjectId> used;
  std::vector<ObjectId> unused;
};

}  // namespace hoplite
