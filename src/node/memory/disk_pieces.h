// DiskPieces: what is served from a disk, a piece at a time, without memory of the store (docs/protocol.md:
// R121).
//
//   a lane asks --> read already, or being read: it shares that
//        |    '--> a buffer is free, or its piece is in no use: read into it
//        '--> none is: in line, first come first served
//
// Decides: which piece has a buffer. Is told: which pieces lanes want, and when they are done with one.
// Must never: have more buffers than its limit, or let one who waits for a buffer hold another: a lane
// has a piece only while it sends from it, and so gives it back whoever else waits. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/units.h"
#include "store/object_store.h"

namespace hoplite::node {

class DiskPieces : public std::enable_shared_from_this<DiskPieces> {
 public:
  static constexpr std::uint64_t kPieceBytes = 2_MiB;
  static constexpr std::uint64_t kAllBytes = 32_MiB;
  // A copy could not be read; on a thread of the disk.
  using OnLost = std::function<void(const store::CopyPtr& copy, const Error& why)>;

  DiskPieces(OnLost on_lost, std::uint64_t all_bytes = kAllBytes);
  DiskPieces(const DiskPieces&) = delete;
  DiskPieces& operator=(const DiskPieces&) = delete;

  // Some whole blocks of a copy.
  class Piece {
   public:
    std::uint64_t begin() const { return begin_; }
    std::uint64_t end() const { return begin_ + size_; }
    // After ready().
    std::span<const std::byte> bytes() const { return {buffer_, size_}; }
    bool ready() const { return state_ == State::kReady; }
    bool failed() const { return state_ == State::kFailed; }

   private:
    friend class DiskPieces;
    using WakePtr = std::shared_ptr<const std::function<void()>>;
    enum class State : std::uint8_t { kWaits, kReads, kReady, kFailed };
    using Key = std::pair<std::uint64_t, std::uint64_t>;  // the copy's number, the piece's

    Key key_;
    std::uint64_t begin_ = 0;
    std::uint64_t size_ = 0;
    std::byte* buffer_ = nullptr;
    std::atomic<State> state_{State::kWaits};
    // Guarded by the pieces' lock.
    store::CopyPtr copy_;  // until it is read
    std::vector<WakePtr> wake_;
    std::size_t users_ = 0;
  };
  using Use = std::shared_ptr<const Piece>;

  // The piece of the copy, which is on a disk, with this byte; it is kept while the answer lives. `wake`
  // is called, on a thread of the disk, when it is ready or failed: never at once, nor after the answer
  // went.
  Use Want(const store::CopyPtr& copy, std::uint64_t byte, std::function<void()> wake);
  // It is likely to be wanted soon: read, if there is a buffer for it that nobody waits for.
  void ReadAhead(const store::CopyPtr& copy, std::uint64_t byte);

 private:
  using PiecePtr = std::shared_ptr<Piece>;
  struct FreeBuffer {
    void operator()(std::byte* buffer) const;
  };
  using Buffer = std::unique_ptr<std::byte, FreeBuffer>;

  PiecePtr At(const store::CopyPtr& copy, std::uint64_t byte) HOPLITE_REQUIRES(mutex_);
  std::byte* TakeBuffer() HOPLITE_REQUIRES(mutex_);
  void Leave(const PiecePtr& piece, const Piece::WakePtr& wake);
  void Advance();
  void Read(const PiecePtr& piece);
  void Done(const PiecePtr& piece, const store::CopyPtr& copy, const Result<void>& read);

  const OnLost on_lost_;
  const std::size_t most_;
  Mutex mutex_;
  std::vector<Buffer> buffers_ HOPLITE_GUARDED_BY(mutex_);
  std::vector<std::byte*> free_ HOPLITE_GUARDED_BY(mutex_);
  std::map<Piece::Key, PiecePtr> pieces_ HOPLITE_GUARDED_BY(mutex_);
  std::deque<PiecePtr> line_ HOPLITE_GUARDED_BY(mutex_);   // wait for a buffer
  std::list<PiecePtr> unused_ HOPLITE_GUARDED_BY(mutex_);  // ready, in no use: the longest first
};

}  // namespace hoplite::node
