// ReadBack: one copy on its way from the node's disk into its memory, however many wait for it
// (docs/protocol.md: R122).
//
//   memory, in line with all others --> the disk reads, a few pieces at a time --> marks grow in order
//       '-- nobody wants it any more: it leaves the line              whole: it is listed instead
//
// Decides: how many pieces are read at a time, and when nobody wants it. Is told: who waits, what the
// disk has read. Must never: ask the disk before it has memory, or take the copy on the disk off the
// list before the one in memory is whole. Main loop only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "node/core/context.h"
#include "node/core/object_entry.h"

namespace hoplite::node {

class ReadBack : public std::enable_shared_from_this<ReadBack>, private store::CopyListener {
 public:
  // Somebody waits for it, or reads what has come.
  class Interest {
   public:
    explicit Interest(std::shared_ptr<ReadBack> read) : read_(std::move(read)) {
      ++read_->interest_;
    }
    ~Interest() {
      if (--read_->interest_ == 0) read_->changed_.Notify();
    }
    Interest(const Interest&) = delete;
    Interest& operator=(const Interest&) = delete;
    const ReadBack& read() const { return *read_; }

   private:
    const std::shared_ptr<ReadBack> read_;
  };

  // In the one that brings this copy, which is on the disk: the present one, or a new one.
  static std::shared_ptr<Interest> In(Context& context, const EntryPtr& entry,
                                      const store::CopyPtr& spilled);
  ReadBack(Context& context, EntryPtr entry, store::CopyPtr spilled);
  ~ReadBack() override;
  void Stop() {
    stopped_ = true;
    changed_.Notify();
  }

  // In memory, as far as it has come; null: there is no memory for it yet. Whoever waits has it from
  // here: the listed one may go to the disk again.
  const store::CopyPtr& copy() const { return copy_; }
  bool done() const { return done_; }
  // After done: why it did not come. None: it did, or nobody wanted it.
  const std::optional<Error>& error() const { return error_; }
  // How much memory it waits for; none: it does not.
  std::optional<std::uint64_t> awaited_memory() const {
    return copy_ || done_ ? std::nullopt : std::optional(spilled_->layout().size_bytes);
  }
  // For the message of a deadline.
  std::string Waiting() const;

 private:
  void OnCopyChanged() noexcept override { changed_.Notify(); }  // it may be void
  net::Task<void> Run();
  net::Task<void> TakeMemory();
  net::Task<void> ReadAll();
  void ReadNext();
  void OnPiece(std::uint64_t begin, const Result<void>& read);
  void AdvanceTo(std::uint64_t end);
  void Finish();
  bool wanted() const;

  Context& context_;
  const EntryPtr entry_;
  const store::CopyPtr spilled_;
  net::Signal changed_;
  store::CopyPtr copy_;
  int interest_ = 0;
  std::size_t reading_ = 0;                         // pieces
  std::uint64_t asked_ = 0;                         // bytes [0, asked) are asked of the disk
  std::uint64_t whole_ = 0;                         // bytes [0, whole) are here
  std::map<std::uint64_t, std::uint64_t> arrived_;  // beyond that: begin -> end
  std::optional<Error> error_;
  bool stopped_ = false;
  bool done_ = false;
};

}  // namespace hoplite::node
