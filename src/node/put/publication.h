// Publication: one Put under way, from reserved memory to an accepted, final copy.
//
// planner::PublicationState decides when the shard is told, what its answers mean, and when the
// copy is final or goes; this has the copy, takes checksums of what the client wrote, and carries
// out what is decided.
//
//   client writes -> written_ grows -> checksums: its own, or the pool's -> marks grow -> others
//   pull
//
// Decides: whose checksums are taken. Is told: how far the client has written, what the shard
// answered. Must never: advance a mark over a block without its checksum. Main loop only, except
// that checksums are computed on the pool.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "node/core/context.h"
#include "node/core/operations.h"
#include "planner/node/publication_state.h"

namespace hoplite::node {

class Publication final : public Draft, public std::enable_shared_from_this<Publication> {
 public:
  struct Owning {
    OwnerPtr owner;  // null: it is not put to be owned
    bool only_if_owned = false;
    std::optional<Duration> grace;
  };
  // attempt: as PublicationState's.
  Publication(Context& context, Operations& calls, EntryPtr entry, store::CopyPtr copy,
              std::uint64_t attempt, Owning owning);
  ~Publication() override;

  const store::CopyPtr& copy() const override { return copy_; }
  Result<void> Advance(std::uint64_t prefix_bytes,
                       std::span<const std::uint64_t> checksums) override;
  net::Task<Result<void>> Seal(CallPtr call) override;
  void Abort() override;

  // Once, when its entry has it.
  void Begin();

  // What the shard says. Accept makes the copy visible; the others tell the client why not.
  void Accept(Version version);
  void Refuse(Error error, store::VoidReason reason = store::VoidReason::kAborted);
  void Recall(Version below, Error error, store::VoidReason reason);

  bool accepted() const { return state_.accepted(); }
  // What it waits for, in words.
  std::string Waiting() const;
  // An announcement that the shard has not answered; the inventory repeats it.
  std::optional<protocol::Create> OpenCreate();

 private:
  bool in_session() const;
  void Carry(const planner::PublicationState::Effects& effects,
             store::VoidReason reason = store::VoidReason::kAborted);
  protocol::Create MakeCreate() const;
  bool TakeChecksums(std::uint64_t prefix_bytes, std::span<const std::uint64_t> checksums);
  void PumpChecksums();
  void OnPumped();
  void Step();
  void Show();
  void Drop(store::VoidReason reason);
  void Announce();

  Context& context_;
  Operations& calls_;
  const EntryPtr entry_;
  const store::CopyPtr copy_;
  planner::PublicationState state_;
  const Owning owning_;
  std::uint64_t owner_number_ = 0;  // of its Create; 0: not announced, or not owned

  std::atomic<std::uint64_t> written_{0};
  std::uint64_t summed_blocks_ = 0;  // blocks with a checksum; a running pump's own
  bool pumping_ = false;
};

// What keeps a Put of the object here from its memory or from the shard's word; empty: there is none.
std::string WhyPutWaits(const Context& context, const ObjectEntry& entry);

}  // namespace hoplite::node
