// What a reduction computes (the operation that folds two elements into one), what it can be told,
// and what became of it: plain values. reduction.h is one under way.
//
// Objects are folded in the order in which they arrive. Folding a with b gives the same bits as b
// with a, on every machine; only sum and prod of floats depend on which of three or more met first.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <hoplite/dtype.h>
#include <hoplite/export.h>
#include <hoplite/object_id.h>
#include <hoplite/options.h>
#include <hoplite/result.h>

namespace hoplite {

// What makes one element of two. The numbers travel on the wire.
enum class Op : std::uint8_t {
  kSum = 1,   // of floats: a NaN on either side, and infinity minus infinity, give NaN
  kProd = 2,  // of floats: a NaN on either side, and zero times infinity, give NaN
  kMin = 3,   // of floats: a NaN on either side gives NaN; -0 is below +0
  kMax = 4,   // of floats: as kMin
  kAnd = 5,   // bit by bit; integers only
  kOr = 6,    // bit by bit; integers only
  kXor = 7,   // bit by bit; integers only
  // Floats only: the sum of the sources that are used, divided by their number when all are folded.
  // Of 16 bits the sum is rounded, and overflows, as that of kSum; the quotient is computed in
  // float32 and rounded.
  kMean = 8,
};

// "sum", "prod", "and", …: what the command line and Python take and show. "unknown" for a number
// that is none.
HOPLITE_EXPORT std::string_view Name(Op op);
HOPLITE_EXPORT std::ostream& operator<<(std::ostream& out, Op op);  // its Name
// The reverse of Name; an invalid_argument names the wrong word and the allowed ones.
HOPLITE_EXPORT Result<Op> ParseOp(std::string_view name);

// invalid_argument for and, or, xor of floats, for the mean of integers, and for numbers that are no
// Op or no DType.
HOPLITE_EXPORT Result<void> Supports(Op op, DType dtype);

// The sources of one reduction.
inline constexpr std::size_t kMaxReduceSources = 16384;

// What is to be folded, how and where.
struct ReduceOptions {
  // Arrays of one type and size; they need not exist yet. At most kMaxReduceSources.
  std::vector<ObjectId> sources = {};
  Op op = Op::kSum;  // what makes one element of two
  // Of the elements of all sources. None: that of the first source that exists. Sources whose type
  // was not noted when they were put (PutOptions::dtype) need it; one of another type is refused.
  std::optional<DType> dtype = {};
  // Only the first so many bytes of each source are elements; 0: all are. Those behind them have to
  // be the same in all sources, which `alike` can see to, and are the same in the target. Needs `dtype`.
  std::uint64_t folded_bytes = 0;
  // How many of the sources: those that become available first. Empty: all.
  std::optional<std::uint64_t> num_objects = {};
  ObjectId target = {};  // all zero: a random one
  // Of the target, at most 4 KiB; empty: that of the first listed source.
  std::string metadata = {};
  // If set: the first line of each source's metadata has to be that of the others, and to begin
  // with this. A source without metadata says nothing of itself, and is taken. Empty: metadata is
  // not compared, and only sizes have to be equal.
  std::optional<std::string> alike = {};
  // The target's first complete copy is made on the node that is asked.
  bool root_here = false;
  // Fold in the order of `sources`, so that sums of floats have the same bits each time; needs all
  // sources, and folds along a line.
  bool fixed_order = false;
  // The most children of a slot in the tree: 1 is a line, 2 a binary tree. 0: the one with the
  // least predicted time.
  std::uint32_t degree = 0;
  // Every node that holds a source reads the target, too: an allreduce. Those n nodes form a ring,
  // each of them makes a part of the target, and all have it after about 2 (n - 1) / n times size /
  // bandwidth instead of 2. Say it only if they do read it: each gets a copy of the target whether
  // it is asked for there or not, and needs room for three times the size while it is made. It
  // changes nothing but time and place. root_here, fixed_order or a degree win over it; the target
  // of small objects, or of a reduction one of whose sources is late, is made by the tree as well.
  bool everyone_reads = false;
  // This client owns the target (Client::Own) as soon as it is final.
  bool owned = false;
  std::optional<std::chrono::milliseconds> grace = {};  // as in PutOptions
  // Of the sources, as in CallOptions: one that does not exist and that nobody owns was deleted. The
  // reduction fails with `deleted` when fewer are left than it needs.
  bool only_if_owned = false;
  // Of the whole reduction, not of one Wait: after it nobody will see the target.
  std::chrono::milliseconds timeout = kForever;
};

// What a reduction made of its sources, each in the order of the options.
struct ReduceOutcome {
  ObjectId target;               // the object that was made
  std::vector<ObjectId> used;    // the sources that are in it
  std::vector<ObjectId> unused;  // those that are not, because others came first
};

}  // namespace hoplite
