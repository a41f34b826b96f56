#include "cli/web/web_server.h"

#include <chrono>
#include <list>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/exhaustion.h"
#include "base/log.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/try.h"
#include "cli/output.h"
#include "cli/top/json.h"
#include "cli/top/model.h"
#include "cli/web/own_host.h"
#include "cli/web/page.h"
#include "cli/web/page_token.h"
#include "client/pictures.h"
#include "directory/directory_client.h"
#include "metrics/http_port.h"

namespace hoplite::cli::web {
namespace {

using metrics::HttpPort;
using metrics::Request;

constexpr std::size_t kDescriptors = 8 + metrics::kMaxConnections;
constexpr const char* kWhat = "the port of the page";
constexpr std::chrono::seconds kBetween(1);
constexpr std::chrono::seconds kAnswersWithin(2);
// So much is drawn by a browser, and read by a person.
constexpr std::size_t kMostObjects = 100;
constexpr std::size_t kMostBytes = 1024 * 1024;

// Nothing that the page did not bring itself runs in it, and nobody frames it.
constexpr std::string_view kSafety =
    "Content-Security-Policy: default-src 'none'; connect-src 'self'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
    "Cache-Control: no-store\r\n";
constexpr std::string_view kJson = "application/json; charset=utf-8";

std::string EventOf(top::Picture picture, const std::string& remark) {
  if (!remark.empty()) picture.remarks.push_back(remark);
  const std::size_t under_way = picture.objects.size();
  picture.objects.resize(std::min(under_way, kMostObjects));
  for (;;) {
    Json document = top::ToJson(picture);
    document["under_way"] = under_way;
    std::string event = "data: " + AsLine(document) + "\n\n";
    if (event.size() <= kMostBytes || picture.objects.empty()) return event;
    picture.objects.resize(picture.objects.size() / 2);
  }
}

std::string ObjectJson(const Result<protocol::ObjectView>& found) {
  if (found) return AsLine(cli::ToJson(client::ToObjectInfo(*found)));
  return AsLine(
      Json{{"error", {{"code", Name(found.error().code)}, {"message", found.error().message}}}});
}

constexpr std::string_view kWords = "text/plain; charset=utf-8";

std::string NotForThisPage(const Request& request, const std::string& address) {
  return metrics::AnswerTo(
      request, "421 Misdirected Request", kWords,
      fmt::format("The page is not at '{}': open http://{}/, an address of this host, or the name "
                  "that --web says.\n",
                  IsPlainText(request.host) ? request.host : "...", address));
}

std::string AsksForToken(const Request& request) {
  return metrics::AnswerTo(request, "401 Unauthorized", kWords,
                           "The page asks for its token: open it as /?token=TOKEN once.\n",
                           "WWW-Authenticate: Bearer\r\n");
}

std::shared_ptr<const std::string> Shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

// All but the constructor and address() on the server's thread, which outlives every task.
class WebServer::Impl {
 public:
  explicit Impl(WebOptions options) : options_(std::move(options)) {}
  ~Impl();

  Result<void> Listen();
  const std::string& address() const { return address_; }
  bool secure() const { return options_.security != nullptr; }

 private:
  net::Task<void> Serve(HttpPort::ExchangePtr exchange);
  // What somebody gets who may not look at the page, or not yet.
  std::optional<std::string> KeptOut(const Request& request) const;
  net::Task<void> ShowPictures(HttpPort::ExchangePtr exchange);
  net::Task<void> ShowObject(HttpPort::ExchangePtr exchange, ObjectId object);
  void Watch();
  void Draw();

  const WebOptions options_;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> stay_ = asio::make_work_guard(loop_);
  std::unique_ptr<HttpPort> port_;
  std::vector<std::unique_ptr<directory::ShardPort>> objects_;  // a port for each shard
  std::list<HttpPort::ExchangePtr> viewers_;
  std::unique_ptr<top::Watches> watches_;  // while there are viewers
  std::shared_ptr<const std::string> event_;
  std::string address_;
  std::optional<PageToken> token_;
  std::thread thread_;
};

Result<void> WebServer::Impl::Listen() {
  for (const top::ShardPlace& shard : options_.shards) {
    objects_.push_back(top::PortTo(loop_, shard, options_.to_shards));
  }
  const auto serve = [this](HttpPort::ExchangePtr exchange) { return Serve(std::move(exchange)); };
  TRY_ASSIGN(port_, HttpPort::Open(loop_, options_.listen, serve, options_.security));
  address_ = port_->address();
  token_.emplace(options_.token, address_);
  TRY_ASSIGN(thread_, StartThread([this] { loop_.run(); }));
  log::Info("the page is served at {}", address_);
  return {};
}

// Also of one that could not listen.
WebServer::Impl::~Impl() {
  if (!thread_.joinable()) return;
  asio::post(loop_, [this] {
    port_->Close();
    for (const auto& port : objects_) port->Stop();
    watches_.reset();
    stay_.reset();
  });
  thread_.join();
}

net::Task<void> WebServer::Impl::Serve(HttpPort::ExchangePtr exchange) {
  if (auto refusal = metrics::Refusal(exchange->request())) {
    co_await exchange->Send(Shared(*std::move(refusal)));
    co_return;
  }
  const Request& request = *exchange->request();
  constexpr std::string_view kId = "id=";
  if (auto answer = KeptOut(request)) {
    co_await exchange->Send(Shared(*std::move(answer)));
  } else if (request.path == "/events") {
    co_await ShowPictures(exchange);
  } else if (request.path == "/object" && request.query.starts_with(kId)) {
    const auto object = ObjectId::Parse(request.query.substr(kId.size()));
    if (object) {
      co_await ShowObject(exchange, *object);
    } else {
      co_await exchange->Send(
          Shared(metrics::AnswerTo(request, "400 Bad Request", kWords, object.error().message)));
    }
  } else if (request.path == "/") {
    co_await exchange->Send(
        Shared(metrics::AnswerTo(request, "200 OK", "text/html; charset=utf-8", Page(), kSafety)));
  } else {
    co_await exchange->Send(Shared(metrics::NotThere("the page is at /")));
  }
}

std::optional<std::string> WebServer::Impl::KeptOut(const Request& request) const {
  if (token_->asked()) {
    if (token_->ShownBy(request)) return std::nullopt;
    if (!token_->BroughtBy(request)) return AsksForToken(request);
    return metrics::AnswerTo(request, "303 See Other", kWords, "",
                             "Location: /\r\n" + token_->CookieLine(secure()));
  }
  if (secure() || IsOwnHost(request.host, options_.listen)) return std::nullopt;
  return NotForThisPage(request, address_);
}

net::Task<void> WebServer::Impl::ShowPictures(HttpPort::ExchangePtr exchange) {
  bool goes_on = co_await exchange->Send(
      Shared(metrics::HeadOf("200 OK", "text/event-stream", "Cache-Control: no-store\r\n")));
  viewers_.push_back(exchange);
  Watch();
  std::shared_ptr<const std::string> shown;
  while (goes_on && exchange->open()) {
    if (event_ != nullptr && event_ != shown) {
      shown = event_;
      goes_on = co_await exchange->Send(shown);
    } else {
      co_await exchange->Wait(kNever);
    }
  }
  viewers_.remove(exchange);
}

net::Task<void> WebServer::Impl::ShowObject(HttpPort::ExchangePtr exchange, ObjectId object) {
  const auto found = std::make_shared<std::optional<Result<protocol::ObjectView>>>();
  directory::ShardPort& shard = *objects_.at(directory::ShardOf(object, objects_.size()));
  shard.Find(object, kAnswersWithin, [found, exchange](Result<protocol::ObjectView> view) {
    *found = std::move(view);
    exchange->Wake();
  });
  const Time deadline = Now() + kAnswersWithin;
  while (!*found && exchange->open() && Now() < deadline) co_await exchange->Wait(deadline);
  if (!*found) {
    *found = std::unexpected(Error(ErrorCode::kTimeout, "the shard did not answer in time"));
  }
  const Request& request = *exchange->request();
  co_await exchange->Send(
      Shared(metrics::AnswerTo(request, "200 OK", kJson, ObjectJson(**found), kSafety)));
}

void WebServer::Impl::Watch() {
  if (watches_ != nullptr) return;
  event_.reset();
  const top::WatchOptions options{.shards = options_.shards,
                                  .security = options_.to_shards,
                                  .timeout = kAnswersWithin,
                                  .between = kBetween};
  watches_ = std::make_unique<top::Watches>(loop_, options, [this] { Draw(); });
}

void WebServer::Impl::Draw() {
  if (viewers_.empty()) {
    // This is called by what ends here.
    return asio::post(loop_, [this] {
      if (viewers_.empty()) watches_.reset();
    });
  }
  event_ = Shared(EventOf(watches_->Look(), options_.remark));
  for (const auto& viewer : viewers_) viewer->Wake();
}

Result<std::unique_ptr<WebServer>> WebServer::Start(WebOptions options) {
  TRY(RequireDescriptors(kDescriptors, kWhat));
  TRY(RequireThreads(1, kWhat));
  TRY_ASSIGN(std::unique_ptr<Impl> impl, OrExhausted(kWhat, [&] {
               return Result<std::unique_ptr<Impl>>(std::make_unique<Impl>(std::move(options)));
             }));
  TRY(OrExhausted(kWhat, [&] { return impl->Listen(); }));
  return std::unique_ptr<WebServer>(new WebServer(std::move(impl)));
}

WebServer::WebServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebServer::~WebServer() = default;

const std::string& WebServer::address() const { return impl_->address(); }
bool WebServer::secure() const { return impl_->secure(); }

}  // namespace hoplite::cli::web
