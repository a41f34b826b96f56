#include "node/pull/read_back.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "store/spilled_read.h"

namespace hoplite::node {
namespace {

constexpr std::uint64_t kPieceBytes = 2_MiB;
// As many as keep the disk's readers busy; others are served from the disk meanwhile.
constexpr std::size_t kPiecesAtATime = 4;

}  // namespace

std::shared_ptr<ReadBack::Interest> ReadBack::In(Context& context, const EntryPtr& entry,
                                                 const store::CopyPtr& spilled) {
  const auto& present = entry->read_back();
  if (present && present->spilled_ == spilled) return std::make_shared<Interest>(present);
  auto read = std::make_shared<ReadBack>(context, entry, spilled);
  entry->Begin(read);
  auto interest = std::make_shared<Interest>(read);
  context.runtime.Spawn(context.runtime.main(), "read back from the disk", read->Run());
  return interest;
}

ReadBack::ReadBack(Context& context, EntryPtr entry, store::CopyPtr spilled)
    : context_(context),
      entry_(std::move(entry)),
      spilled_(std::move(spilled)),
      changed_(context.runtime.main()) {
  spilled_->AddListener(this);
}

ReadBack::~ReadBack() { spilled_->RemoveListener(this); }

bool ReadBack::wanted() const {
  return interest_ > 0 && !error_ && !stopped_ && spilled_->state() == store::CopyState::kFinal;
}

net::Task<void> ReadBack::Run() {
  const auto self = shared_from_this();
  co_await TakeMemory();
  if (copy_) co_await ReadAll();
  Finish();
}

net::Task<void> ReadBack::TakeMemory() {
  MemoryBroker::Waiter space(context_.memory, changed_);
  while (wanted()) {
    auto copy = space.Try(entry_->object, spilled_->layout(), spilled_->metadata());
    if (copy) {
      copy_ = std::move(*copy);
      copy_->StandFor(*spilled_);
      entry_->Changed();  // whoever follows it as it comes may start
      co_return;
    }
    co_await changed_.Wait();
  }
}

// The disk has the memory as long as it reads: whoever comes meanwhile joins, and takes no more.
net::Task<void> ReadBack::ReadAll() {
  const std::uint64_t size = copy_->layout().size_bytes;
  while (!stopped_ && whole_ < size && (wanted() || reading_ > 0)) {
    while (wanted() && reading_ < kPiecesAtATime && asked_ < size) ReadNext();
    co_await changed_.Wait();
    if (spilled_->state() == store::CopyState::kVoid) copy_->Void(spilled_->void_reason());
  }
}

void ReadBack::ReadNext() {
  const std::uint64_t begin = asked_;
  asked_ = std::min(begin + kPieceBytes, copy_->layout().size_bytes);
  ++reading_;
  const auto into = copy_->bytes().subspan(begin, asked_ - begin);
  store::ReadSpilled(spilled_, begin, into,
                     [weak = weak_from_this(), copy = copy_, begin,
                      gate = context_.memory.spiller()->gate()](const Result<void>& read) {
                       gate->Post([weak, begin, read] {
                         if (const auto self = weak.lock()) self->OnPiece(begin, read);
                       });
                     });
}

void ReadBack::OnPiece(std::uint64_t begin, const Result<void>& read) {
  --reading_;
  if (done_) return;  // the node stops
  if (!read && !error_) {
    error_ =
        Error(ErrorCode::kPeerLost,
              fmt::format("object {} lay on the disk of {} only, which could not read it: {}",
                          entry_->object.ToHex(), context_.settings.name, read.error().message));
    context_.memory.spiller()->OnUnreadable(spilled_, read.error());
  } else if (read) {
    arrived_.emplace(begin, std::min(begin + kPieceBytes, copy_->layout().size_bytes));
    while (!arrived_.empty() && arrived_.begin()->first == whole_) {
      AdvanceTo(arrived_.extract(arrived_.begin()).mapped());
    }
  }
  changed_.Notify();
}

void ReadBack::AdvanceTo(std::uint64_t end) {
  const Layout& layout = copy_->layout();
  for (std::uint64_t block = whole_ / layout.block_bytes; block * layout.block_bytes < end;
       ++block) {
    copy_->SetChecksum(block, spilled_->checksum(block));
  }
  whole_ = end;
  const StripeMarks marks = layout.marks_of_prefix(end);
  for (std::uint32_t s = 0; s < marks.size(); ++s) copy_->Advance(s, marks[s]);
}

void ReadBack::Finish() {
  const bool whole = copy_ && whole_ == copy_->layout().size_bytes;
  if (whole && context_.store.Find(entry_->object) == spilled_) {
    copy_->Seal();
    copy_->set_spilled(spilled_);  // which it is listed with
    context_.store.Replace(copy_);
    context_.store.Touch(entry_->object, Now());
    context_.memory.spiller()->NoteMoved(entry_->object);
  } else if (copy_) {
    const bool gone = spilled_->state() == store::CopyState::kVoid;
    copy_->Void(gone ? spilled_->void_reason() : store::VoidReason::kLost);
    copy_.reset();
  }
  done_ = true;
  entry_->Ended(*this);
  entry_->Changed();
}

std::string ReadBack::Waiting() const {
  const std::uint64_t size = spilled_->layout().size_bytes;
  if (!copy_) {
    return fmt::format("it is on this node's disk, and {}", context_.memory.WhyNone(size));
  }
  return fmt::format("{} of {} bytes are read from this node's disk: {}", whole_, size,
                     context_.memory.spiller()->InWords());
}

}  // namespace hoplite::node
