#include "sim/node_world/planted_transport.h"

#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/checksum.h"
#include "net/signal.h"
#include "sim/seams/sim_stream.h"
#include "wire/frame.h"

namespace hoplite::node_world {
namespace {

// The first one: a Give's object follows it.
std::optional<wire::Frame> FrameIn(std::span<const std::byte> head) {
  if (head.size() < wire::kHeaderBytes) return std::nullopt;
  const auto header = wire::DecodeHeader(head.first<wire::kHeaderBytes>());
  if (!header) return std::nullopt;
  const auto body = head.subspan(wire::kHeaderBytes);
  if (body.size() < header->body_bytes) return std::nullopt;
  auto frame = wire::DecodeBody(*header, body.first(header->body_bytes));
  if (!frame) return std::nullopt;
  return std::move(*frame);
}

// A stream that bytes are fetched by; the base class changes nothing.
class FetchingStream : public net::Stream, public std::enable_shared_from_this<FetchingStream> {
 public:
  explicit FetchingStream(std::shared_ptr<net::SimStream> stream) : stream_(std::move(stream)) {}

  net::Task<Result<void>> Send(std::span<const std::byte> head, net::Payload payload) override {
    co_return co_await stream_->Send(head, payload);
  }
  net::Task<Result<std::size_t>> ReceiveSome(std::span<std::byte> into) override {
    return stream_->ReceiveSome(into);
  }
  void Close() override { stream_->Close(); }
  void Abort() override { stream_->Abort(); }
  bool closed() const override { return stream_->closed(); }
  bool quiet() override { return stream_->quiet(); }
  Time last_received() const override { return stream_->last_received(); }
  Time last_sent() const override { return stream_->last_sent(); }
  const std::string& peer_address() const override { return stream_->peer_address(); }
  asio::io_context& loop() override { return stream_->loop(); }

 protected:
  net::SimStream& stream() { return *stream_; }

 private:
  const std::shared_ptr<net::SimStream> stream_;
};

// R19: who resumes a stream sends the block before the mark once more, as the next ones.
class RepeatingStream final : public FetchingStream {
 public:
  using FetchingStream::FetchingStream;

  net::Task<Result<void>> Send(std::span<const std::byte> head, net::Payload payload) override {
    const auto self = shared_from_this();
    const auto frame = FrameIn(head);
    const auto* data = frame ? std::get_if<wire::Data>(&*frame) : nullptr;
    if (data == nullptr) {
      if (frame && std::holds_alternative<wire::End>(*frame)) begun_ = repeats_ = false;
      co_return co_await FetchingStream::Send(head, payload);
    }
    if (!std::exchange(begun_, true)) repeats_ = data->first_block > 0;
    if (!repeats_ || data->payload_bytes % data->block_count != 0) {
      co_return co_await FetchingStream::Send(head, payload);
    }
    const std::size_t block = data->payload_bytes / data->block_count;
    payload.bytes = {payload.bytes.data() - block, payload.bytes.size()};
    wire::Data other = *data;
    for (std::uint32_t i = 0; i < other.block_count; ++i) {
      other.checksums[i] = BlockChecksum(payload.bytes.subspan(i * block, block));
    }
    const std::vector<std::byte> changed = wire::Encode(wire::Frame(other));
    co_return co_await FetchingStream::Send(changed, payload);
  }

 private:
  bool begun_ = false;
  bool repeats_ = false;
};

// R2: memory that is sent is free again before its receiver has it all.
class HastyStream final : public FetchingStream {
 public:
  using FetchingStream::FetchingStream;

  net::Task<Result<void>> Send(std::span<const std::byte> head, net::Payload payload) override {
    const auto self = shared_from_this();
    const auto frame = FrameIn(head);
    const auto sent = co_await FetchingStream::Send(head, payload);
    const auto* end = frame ? std::get_if<wire::End>(&*frame) : nullptr;
    if (end != nullptr && end->reason == wire::EndReason::kFinal) {
      stream().Pretend(wire::Encode(wire::Frame(wire::Done{})));
    }
    co_return sent;
  }
};

// R22: one stream at a time, from its first frame to END, whether there are bytes to send or not.
class Turn {
 public:
  bool Take(const void* stream) {
    if (holder_ == nullptr) holder_ = stream;
    return holder_ == stream;
  }
  void Leave(const void* stream) {
    if (holder_ != stream) return;
    holder_ = nullptr;
    for (net::Signal* const waits : waiting_) waits->Notify();
  }
  void Wait(net::Signal& signal) { waiting_.insert(&signal); }
  void WaitNoMore(net::Signal& signal) { waiting_.erase(&signal); }

 private:
  const void* holder_ = nullptr;
  std::set<net::Signal*> waiting_;
};

class QueueingStream final : public FetchingStream {
 public:
  QueueingStream(std::shared_ptr<net::SimStream> stream, std::shared_ptr<Turn> turn)
      : FetchingStream(std::move(stream)), turn_(std::move(turn)), mine_(loop()) {
    turn_->Wait(mine_);
  }
  ~QueueingStream() override {
    turn_->WaitNoMore(mine_);
    turn_->Leave(this);
  }

  net::Task<Result<void>> Send(std::span<const std::byte> head, net::Payload payload) override {
    const auto self = shared_from_this();
    const auto frame = FrameIn(head);
    const bool greets = frame && std::holds_alternative<wire::PeerWelcome>(*frame);
    while (!greets && !closed() && !turn_->Take(this)) co_await mine_.Wait();
    const auto sent = co_await FetchingStream::Send(head, payload);
    if (frame && std::holds_alternative<wire::End>(*frame)) turn_->Leave(this);
    co_return sent;
  }
  void Close() override {
    FetchingStream::Close();
    Leave();
  }
  void Abort() override {
    FetchingStream::Abort();
    Leave();
  }

 private:
  void Leave() {
    turn_->Leave(this);
    mine_.Notify();
  }

  const std::shared_ptr<Turn> turn_;
  net::Signal mine_;
};

// R19: who reads through a window takes the blocks in any order, as who has room for all of them.
class CarelessStream final : public FetchingStream {
 public:
  using FetchingStream::FetchingStream;

  net::Task<Result<void>> Send(std::span<const std::byte> head, net::Payload payload) override {
    const auto self = shared_from_this();
    const auto frame = FrameIn(head);
    const auto* fetch = frame ? std::get_if<wire::Fetch>(&*frame) : nullptr;
    if (fetch == nullptr) co_return co_await FetchingStream::Send(head, payload);
    wire::Fetch other = *fetch;
    other.ordered = false;
    const std::vector<std::byte> changed = wire::Encode(wire::Frame(std::move(other)));
    co_return co_await FetchingStream::Send(changed, payload);
  }
};

class PlantedTransport final : public net::Transport {
 public:
  PlantedTransport(PlantedFault fault, std::unique_ptr<net::Transport> transport)
      : fault_(fault), transport_(std::move(transport)) {}

  Result<std::unique_ptr<net::Listener>> Listen(
      const std::string& address, std::function<void(net::StreamPtr)> on_accept) override {
    return transport_->Listen(
        address, [this, on_accept = std::move(on_accept)](const net::StreamPtr& stream) {
          on_accept(Serving(std::static_pointer_cast<net::SimStream>(stream)));
        });
  }
  net::Task<Result<net::StreamPtr>> Connect(std::string address, Duration timeout) override {
    auto stream = co_await transport_->Connect(std::move(address), timeout);
    if (!stream || fault_ != PlantedFault::kAsksInAnyOrder) co_return stream;
    co_return std::make_shared<CarelessStream>(std::static_pointer_cast<net::SimStream>(*stream));
  }

 private:
  net::StreamPtr Serving(std::shared_ptr<net::SimStream> stream) const {
    if (fault_ == PlantedFault::kAsksInAnyOrder) return stream;
    if (fault_ == PlantedFault::kRepeatsABlockOnResume) {
      return std::make_shared<RepeatingStream>(std::move(stream));
    }
    if (fault_ == PlantedFault::kReusesMemoryBeingSent) {
      return std::make_shared<HastyStream>(std::move(stream));
    }
    return std::make_shared<QueueingStream>(std::move(stream), turn_);
  }

  const PlantedFault fault_;
  const std::unique_ptr<net::Transport> transport_;
  const std::shared_ptr<Turn> turn_ = std::make_shared<Turn>();
};

}  // namespace

std::unique_ptr<net::Transport> WithPlanted(PlantedFault fault,
                                            std::unique_ptr<net::Transport> transport) {
  switch (fault) {
    case PlantedFault::kRepeatsABlockOnResume:
    case PlantedFault::kReusesMemoryBeingSent:
    case PlantedFault::kHoldsItsTurn:
    case PlantedFault::kAsksInAnyOrder:
      return std::make_unique<PlantedTransport>(fault, std::move(transport));
    default:
      return transport;
  }
}

}  // namespace hoplite::node_world
