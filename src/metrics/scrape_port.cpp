#include "metrics/scrape_port.h"

#include <chrono>
#include <span>
#include <string_view>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>

#include "base/clock.h"
#include "base/try.h"
#include "metrics/http.h"
#include "net/deadline.h"

namespace hoplite::metrics {
namespace {

constexpr std::chrono::seconds kAsksWithin(5);
constexpr std::chrono::seconds kTakesWithin(10);

}  // namespace

// Its coroutine holds it; whoever closes it ends that.
class ScrapePort::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ScrapePort& port, net::StreamPtr stream) : port_(port), stream_(std::move(stream)) {}

  void Start() { asio::co_spawn(port_.loop_, Serve(shared_from_this()), asio::detached); }
  void Close() {
    if (std::exchange(closed_, true)) return;
    stream_->Close();
    port_.open_.remove(shared_from_this());
  }

 private:
  static net::Task<void> Serve(std::shared_ptr<Connection> self) {
    const Verdict verdict = co_await self->Hear();
    if (verdict != Verdict::kUnfinished) co_await self->Answer(verdict);
    self->Close();
  }

  // Unfinished: the client has gone, or was too slow.
  net::Task<Verdict> Hear() {
    const net::Deadline patience(port_.loop_, Now() + kAsksWithin, Closer());
    std::string head;
    Verdict verdict = Verdict::kUnfinished;
    while (verdict == Verdict::kUnfinished) {
      const std::size_t begun = head.size();
      head.resize(kMaxHeadBytes);
      const std::span<std::byte> room = std::as_writable_bytes(std::span(head)).subspan(begun);
      const auto some = co_await stream_->ReceiveSome(room);
      if (!some) break;
      head.resize(begun + *some);
      verdict = Judge(head);
    }
    co_return verdict;
  }

  net::Task<void> Answer(Verdict verdict) {
    const bool asks = verdict == Verdict::kMetrics || verdict == Verdict::kHead;
    const std::string answer = AnswerTo(verdict, asks ? port_.text_() : "");
    const net::Deadline patience(port_.loop_, Now() + kTakesWithin, Closer());
    const net::Payload nothing_more;
    const auto sent = co_await stream_->Send(std::as_bytes(std::span(answer)), nothing_more);
    static_cast<void>(sent);  // whoever has gone wants no answer
  }

  std::function<void()> Closer() {
    return [self = shared_from_this()] { self->Close(); };
  }

  ScrapePort& port_;
  const net::StreamPtr stream_;
  bool closed_ = false;
};

Result<std::unique_ptr<ScrapePort>> ScrapePort::Open(asio::io_context& loop,
                                                     const std::string& listen,
                                                     std::function<std::string()> text) {
  std::unique_ptr<ScrapePort> port(new ScrapePort(loop, std::move(text)));
  TRY_ASSIGN(port->listener_, port->transport_.Listen(listen, [port = port.get()](auto stream) {
    port->Admit(std::move(stream));
  }));
  return port;
}

void ScrapePort::Close() {
  listener_->Stop();
  while (!open_.empty()) ConnectionPtr(open_.front())->Close();
}

void ScrapePort::Admit(net::StreamPtr stream) {
  if (open_.size() >= kMaxScrapes) ConnectionPtr(open_.front())->Close();
  open_.push_back(std::make_shared<Connection>(*this, std::move(stream)));
  open_.back()->Start();
}

}  // namespace hoplite::metrics
