#include "node/memory/disk_pieces.h"

#include <algorithm>
#include <cstdlib>

#include "store/spilled_read.h"

namespace hoplite::node {
namespace {

ByteRange PieceWith(const Layout& layout, std::uint64_t byte) {
  const std::uint64_t size = DiskPieces::kPieceBytes / layout.block_bytes * layout.block_bytes;
  const std::uint64_t begin = byte / size * size;
  return {begin, std::min(begin + size, layout.size_bytes)};
}

}  // namespace

void DiskPieces::FreeBuffer::operator()(std::byte* buffer) const { std::free(buffer); }

DiskPieces::DiskPieces(OnLost on_lost, std::uint64_t all_bytes)
    : on_lost_(std::move(on_lost)), most_(all_bytes / kPieceBytes) {}

DiskPieces::Use DiskPieces::Want(const store::CopyPtr& copy, std::uint64_t byte,
                                 std::function<void()> wake) {
  const auto waker = std::make_shared<const std::function<void()>>(std::move(wake));
  PiecePtr piece;
  {
    const MutexLock lock(mutex_);
    piece = At(copy, byte);
    if (piece->users_++ == 0) unused_.remove(piece);
    if (!piece->ready()) piece->wake_.push_back(waker);
  }
  Advance();
  return {piece.get(),
          [self = shared_from_this(), piece, waker](const Piece*) { self->Leave(piece, waker); }};
}

void DiskPieces::ReadAhead(const store::CopyPtr& copy, std::uint64_t byte) {
  if (byte >= copy->layout().size_bytes) return;
  {
    const MutexLock lock(mutex_);
    const bool spare = !free_.empty() || buffers_.size() < most_ || !unused_.empty();
    if (!line_.empty() || !spare) return;
    At(copy, byte);
  }
  Advance();
}

DiskPieces::PiecePtr DiskPieces::At(const store::CopyPtr& copy, std::uint64_t byte) {
  const ByteRange range = PieceWith(copy->layout(), byte);
  const Piece::Key key{copy->number(), range.begin};
  const auto found = pieces_.find(key);
  if (found != pieces_.end()) return found->second;
  auto piece = std::make_shared<Piece>();
  piece->key_ = key;
  piece->begin_ = range.begin;
  piece->size_ = range.size();
  piece->copy_ = copy;
  pieces_.emplace(key, piece);
  line_.push_back(piece);
  return piece;
}

// Null: all are in use.
std::byte* DiskPieces::TakeBuffer() {
  if (free_.empty() && buffers_.size() < most_) {
    Buffer made(static_cast<std::byte*>(std::aligned_alloc(store::Disk::kGranule, kPieceBytes)));
    if (made) {
      free_.push_back(made.get());
      buffers_.push_back(std::move(made));
    }
  }
  if (free_.empty() && !unused_.empty()) {
    const PiecePtr oldest = unused_.front();
    unused_.pop_front();
    pieces_.erase(oldest->key_);
    free_.push_back(oldest->buffer_);
  }
  if (free_.empty()) return nullptr;
  std::byte* const taken = free_.back();
  free_.pop_back();
  return taken;
}

// Those in line get buffers, as far as there are any.
void DiskPieces::Advance() {
  for (;;) {
    PiecePtr next;
    {
      const MutexLock lock(mutex_);
      if (line_.empty()) return;
      std::byte* const buffer = TakeBuffer();
      if (buffer == nullptr) return;
      next = line_.front();
      line_.pop_front();
      next->buffer_ = buffer;
      next->state_ = Piece::State::kReads;
    }
    Read(next);
  }
}

void DiskPieces::Read(const PiecePtr& piece) {
  const store::CopyPtr copy = piece->copy_;
  const std::span<std::byte> into(piece->buffer_, piece->size_);
  store::ReadSpilled(copy, piece->begin_, into,
                     [self = shared_from_this(), piece, copy](const Result<void>& read) {
                       self->Done(piece, copy, read);
                     });
}

void DiskPieces::Done(const PiecePtr& piece, const store::CopyPtr& copy, const Result<void>& read) {
  {
    const MutexLock lock(mutex_);
    piece->copy_.reset();
    piece->state_ = read ? Piece::State::kReady : Piece::State::kFailed;
    if (read && piece->users_ == 0) unused_.push_back(piece);
    if (!read) {
      pieces_.erase(piece->key_);
      free_.push_back(std::exchange(piece->buffer_, nullptr));
    }
    for (const Piece::WakePtr& wake : std::exchange(piece->wake_, {})) (*wake)();
  }
  if (!read) on_lost_(copy, read.error());
  Advance();
}

void DiskPieces::Leave(const PiecePtr& piece, const Piece::WakePtr& wake) {
  {
    const MutexLock lock(mutex_);
    std::erase(piece->wake_, wake);
    if (--piece->users_ > 0) return;
    if (piece->ready()) unused_.push_back(piece);
    if (std::erase(line_, piece) > 0) pieces_.erase(piece->key_);
  }
  Advance();
}

}  // namespace hoplite::node
