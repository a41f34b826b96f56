#include "net/stream.h"

#include "base/try.h"

namespace hoplite::net {

Task<Result<void>> Stream::SendMany(std::span<const Outgoing> pieces) {
  for (const Outgoing& piece : pieces) CO_TRY(co_await Send(piece.head, piece.payload));
  co_return Result<void>();
}

Task<Result<void>> ReceiveAll(StreamPtr stream, std::span<std::byte> into) {
  while (!into.empty()) {
    CO_TRY_ASSIGN(const std::size_t count, co_await stream->ReceiveSome(into));
    into = into.subspan(count);
  }
  co_return Result<void>();
}

}  // namespace hoplite::net
