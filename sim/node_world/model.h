// Model: what objects may contain. Each Put that begins is an attempt with bytes of its own; what a
// reader gets must be exactly those of one attempt, or a sum (or mean) with exactly one of each used source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/reduce.h>
#include <hoplite/result.h>

namespace hoplite::node_world {

class Model {
 public:
  using Bytes = std::vector<std::byte>;

  // Bytes for one more attempt at this object; stays valid.
  const Bytes& Begin(const ObjectId& object, std::uint64_t size_bytes);
  // The error of one more attempt to fail it.
  Error BeginFailure(const ObjectId& object);
  // Empty, or what is wrong with a reader's being told that the object failed.
  std::string CheckFailure(const ObjectId& object, const Error& error) const;
  // A reduction began, a sum of 64-bit words or a mean of float64; later, its coordinator was told what
  // it used.
  void BeginSum(const ReduceOptions& options);
  void EndSum(const ReduceOutcome& outcome);

  // Empty, or the property that a reader of these bytes found broken. `bytes` of an object that
  // still grows are a prefix.
  std::string Check(const ObjectId& object, std::span<const std::byte> bytes,
                    std::uint64_t size_bytes);

  // Which bytes: equal for equal ones.
  static std::uint64_t Fingerprint(std::span<const std::byte> bytes);

  // Checked at the end of the reductions as well: readers and the coordinator saw one sum.
  std::string CheckSums();

 private:
  struct Sum {
    ReduceOptions options;
    std::optional<std::set<ObjectId>> used;
    std::optional<Bytes> read;
  };
  std::string CheckSum(const ObjectId& target, Sum& sum, std::span<const std::byte> bytes) const;
  bool IsSumOf(const Sum& sum, const std::vector<ObjectId>& used) const;

  std::map<ObjectId, std::vector<std::unique_ptr<Bytes>>> attempts_;
  std::map<ObjectId, Sum> sums_;
  std::map<ObjectId, std::set<std::string>> failures_;
  std::uint64_t begun_ = 0;
};

}  // namespace hoplite::node_world
