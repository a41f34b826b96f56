#include "metrics/metrics_server.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/exhaustion.h"
#include "base/log.h"
#include "base/threads.h"
#include "base/try.h"
#include "metrics/exposition.h"
#include "metrics/http.h"
#include "metrics/http_port.h"

namespace hoplite::metrics {
namespace {

constexpr std::size_t kDescriptors = 8 + kMaxConnections;
// A snapshot looks at every copy: whoever asks more often gets the last one.
constexpr std::chrono::seconds kLasts(1);

}  // namespace

class MetricsServer::Impl {
 public:
  explicit Impl(std::function<Metrics()> snapshot) : snapshot_(std::move(snapshot)) {}
  ~Impl();

  Result<void> Listen(const std::string& address);
  const std::string& address() const { return address_; }

 private:
  net::Task<void> Answer(HttpPort::ExchangePtr exchange);
  std::string AnswerTo(const Result<Request>& request);
  const std::string& Text();

  const std::function<Metrics()> snapshot_;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> stay_ = asio::make_work_guard(loop_);
  std::unique_ptr<HttpPort> port_;
  std::string text_;
  std::optional<Time> made_at_;
  std::string address_;
  std::thread thread_;
};

Result<void> MetricsServer::Impl::Listen(const std::string& address) {
  TRY_ASSIGN(port_, HttpPort::Open(loop_, address, [this](HttpPort::ExchangePtr exchange) {
               return Answer(std::move(exchange));
             }));
  address_ = port_->address();
  TRY_ASSIGN(thread_, StartThread([this] { loop_.run(); }));
  log::Info("metrics are served at {}", address_);
  return {};
}

// The thread, which is joined, outlives all of these.
net::Task<void> MetricsServer::Impl::Answer(HttpPort::ExchangePtr exchange) {
  const auto answer = std::make_shared<const std::string>(AnswerTo(exchange->request()));
  co_await exchange->Send(answer);
}

std::string MetricsServer::Impl::AnswerTo(const Result<Request>& request) {
  if (auto refusal = Refusal(request)) return *std::move(refusal);
  if (request->path != "/metrics") return NotThere("the metrics are at /metrics");
  return metrics::AnswerTo(*request, "200 OK", kContentType, Text());
}

const std::string& MetricsServer::Impl::Text() {
  const Time now = Now();
  if (!made_at_ || now - *made_at_ >= kLasts) {
    text_ = ToText(snapshot_());
    made_at_ = now;
  }
  return text_;
}

// Also of one that could not listen.
MetricsServer::Impl::~Impl() {
  if (!thread_.joinable()) return;
  asio::post(loop_, [this] {
    port_->Close();
    stay_.reset();
  });
  thread_.join();
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& listen,
                                                            std::function<Metrics()> snapshot) {
  TRY(RequireDescriptors(kDescriptors, "the port of the metrics"));
  TRY(RequireThreads(1, "the port of the metrics"));
  TRY_ASSIGN(std::unique_ptr<Impl> impl, OrExhausted("the port of the metrics", [&] {
               return Result<std::unique_ptr<Impl>>(std::make_unique<Impl>(std::move(snapshot)));
             }));
  TRY(OrExhausted("the port of the metrics", [&] { return impl->Listen(listen); }));
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(impl)));
}

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;

const std::string& MetricsServer::address() const { return impl_->address(); }

}  // namespace hoplite::metrics
