// InlineBudget: what the directory itself keeps of objects, within one limit: the bytes of small
// ones, and the metadata of all (R16).
//
// Decides: whether an object's bytes are kept, and whether an object with metadata may be made. Is
// told: bytes and metadata as they come, and that they go. Must never: keep bytes that do not fit
// beside the metadata, or lose count of metadata that came with an inventory, which is kept
// whatever there is: the object exists. A value type; what it counts is in the objects' records.
#pragma once

#include <cstdint>
#include <string>

#include "planner/books/object_record.h"

namespace hoplite::planner {

class InlineBudget {
 public:
  InlineBudget(std::uint64_t limit_bytes, std::uint64_t total_limit_bytes)
      : limit_bytes_(limit_bytes), total_limit_bytes_(total_limit_bytes) {}

  // A version begins: it has this metadata, and no bytes yet.
  void Begin(ObjectRecord& record, const std::string& metadata) {
    Drop(record);
    if (metadata.empty()) return;
    record.metadata = metadata;
    metadata_bytes_ += metadata.size();
  }
  // Whether they were kept.
  bool Keep(ObjectRecord& record, const InlineBytes& bytes) {
    if (bytes == nullptr || record.inline_bytes != nullptr) return false;
    if (!Fits(bytes->size(), 0)) return false;
    record.inline_bytes = bytes;
    record.inline_read = false;
    inline_bytes_ += bytes->size();
    return true;
  }
  void Drop(ObjectRecord& record) {
    if (record.inline_bytes != nullptr) inline_bytes_ -= record.inline_bytes->size();
    record.inline_bytes = nullptr;
    metadata_bytes_ -= record.metadata.OrEmpty().size();
    record.metadata.reset();
  }
  // Whether the record may begin a version with this metadata. Bytes have no part in this: an object
  // whose bytes are not kept comes from its holder, its metadata from nobody else.
  bool HasRoomFor(const ObjectRecord& record, const std::string& metadata) const {
    const std::uint64_t others = metadata_bytes_ - record.metadata.OrEmpty().size();
    return metadata.empty() || others + metadata.size() <= total_limit_bytes_;
  }

  // Whether it may begin a version with this metadata, whose bytes are kept.
  bool HasRoomFor(const ObjectRecord& record, const std::string& metadata,
                  std::uint64_t bytes) const {
    return HasRoomFor(record, metadata) && Fits(bytes, metadata.size());
  }

  std::uint64_t inline_bytes() const { return inline_bytes_; }
  std::uint64_t metadata_bytes() const { return metadata_bytes_; }
  std::uint64_t total_bytes() const { return inline_bytes_ + metadata_bytes_; }
  std::uint64_t total_limit_bytes() const { return total_limit_bytes_; }

 private:
  bool Fits(std::uint64_t bytes, std::uint64_t metadata_bytes) const {
    return bytes <= limit_bytes_ && total_bytes() + bytes + metadata_bytes <= total_limit_bytes_;
  }

  std::uint64_t limit_bytes_;
  std::uint64_t total_limit_bytes_;
  std::uint64_t inline_bytes_ = 0;
  std::uint64_t metadata_bytes_ = 0;
};

}  // namespace hoplite::planner
