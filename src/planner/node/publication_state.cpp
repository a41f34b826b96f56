#include "planner/node/publication_state.h"

#include <string>
#include <utility>

namespace hoplite::planner {
namespace {

Error Bad(std::string why) { return {ErrorCode::kInvalidArgument, std::move(why)}; }

}  // namespace

std::uint64_t WholeBlocks(const Layout& layout, std::uint64_t prefix_bytes) {
  return prefix_bytes == layout.size_bytes ? layout.block_count()
                                           : prefix_bytes / layout.block_bytes;
}

void PublicationState::Begin(bool in_session, Effects& out) {
  if (!small_) Announce(in_session, out);
}

void PublicationState::Announce(bool in_session, Effects& out) {
  announced_ = true;
  heard_ = in_session;
  out.announce = true;
}

Result<void> PublicationState::Advance(std::uint64_t written_bytes, std::uint64_t prefix_bytes,
                                       std::uint64_t checksums) const {
  if (result_ && !*result_) return *result_;
  if (sealed_) return std::unexpected(Bad("the draft is sealed already"));
  if (prefix_bytes > layout_.size_bytes || prefix_bytes < written_bytes) {
    return std::unexpected(Bad("advance to " + std::to_string(prefix_bytes) + " of " +
                               std::to_string(layout_.size_bytes) + " bytes after " +
                               std::to_string(written_bytes) + " were announced"));
  }
  const std::uint64_t whole =
      WholeBlocks(layout_, prefix_bytes) - WholeBlocks(layout_, written_bytes);
  if (checksums != 0 && checksums != whole) {
    return std::unexpected(Bad("advance by " + std::to_string(whole) + " blocks with " +
                               std::to_string(checksums) + " checksums"));
  }
  return {};
}

Result<void> PublicationState::Seal(std::uint64_t written_bytes, bool in_session, Effects& out) {
  if (result_ && !*result_) return *result_;
  if (sealed_) return std::unexpected(Bad("the draft is sealed already"));
  if (written_bytes != layout_.size_bytes) {
    return std::unexpected(Bad("sealed after " + std::to_string(written_bytes) + " of " +
                               std::to_string(layout_.size_bytes) + " bytes"));
  }
  sealed_ = true;
  if (small_) Announce(in_session, out);
  return {};
}

Result<void> PublicationState::StopWaiting(bool cancelled, Effects& out) {
  if (result_) return *result_;
  if (accepted()) return {};
  Abort(out);
  if (cancelled) return std::unexpected(Error(ErrorCode::kCancelled, "the put was cancelled"));
  return std::unexpected(Error(ErrorCode::kTimeout, "the directory did not accept object " +
                                                        object_.ToHex() + " within the deadline"));
}

void PublicationState::Abort(Effects& out) {
  if (result_) return;
  if (accepted() && sealed_) return;  // accepted and fully written: it only waits for checksums
  if (accepted()) {
    out.say.emplace_back(CopyGone{object_, version_, GoneReason::kAborted});
  } else if (heard_) {
    out.say.emplace_back(Withdraw{object_, attempt_});
    out.withdraw = true;
  }
  Refuse(Error(ErrorCode::kCancelled, "the put was aborted"), out);
}

void PublicationState::Accept(Version version, Effects& out) {
  if (result_ || accepted()) return;
  version_ = version;
  out.show = true;
}

void PublicationState::Refuse(Error error, Effects& out) {
  if (result_) return;
  result_ = std::unexpected(std::move(error));
  out.drop = true;
}

void PublicationState::Recall(Version below, Error error, Effects& out) {
  if (accepted() && version_ < below) Refuse(std::move(error), out);
}

void PublicationState::Step(const StripeMarks& marks, Effects& out) {
  if (result_ || !sealed_ || !accepted() || !layout_.complete(marks)) return;
  result_.emplace();
  out.seal = true;
  out.say.emplace_back(CopyComplete{object_, version_});
}

bool PublicationState::Repeats() {
  if (!announced_ || accepted() || result_) return false;
  heard_ = true;
  return true;
}

bool Withdrawal::Ends(const CreateRefused& refused) {
  if (refused.code != ErrorCode::kCancelled) return false;  // of the Create itself
  attempt_.reset();
  return true;
}

}  // namespace hoplite::planner
