#include "cli/top/shard_watch.h"

#include <iterator>
#include <utility>

#include "base/clock.h"

namespace hoplite::cli::top {
namespace {

// Of a million objects all are looked at in 50 pages.
constexpr std::size_t kMostPages = 100;
// More than anybody reads, or a picture that is drawn each second should have.
constexpr std::size_t kMostObjects = 2000;

}  // namespace

ShardWatch::ShardWatch(asio::io_context& loop, std::string address,
                       std::unique_ptr<directory::ShardPort> port, Duration timeout,
                       Duration between, std::function<void()> told)
    : timeout_(timeout),
      between_(between),
      tell_(std::move(told)),
      port_(std::move(port)),
      pause_(loop) {
  look_.address = std::move(address);
  AskForPage(std::nullopt);
}

ShardWatch::~ShardWatch() { port_->Stop(); }

void ShardWatch::Follow(const std::optional<ObjectId>& object) {
  if (followed_ == object) return;
  followed_ = object;
  look_.followed.reset();
  if (followed_) AskForFollowed();
}

void ShardWatch::AskForPage(const std::optional<ObjectId>& after) {
  if (!after) {
    coming_ = {.address = look_.address};
    pages_ = 0;
  }
  port_->Status({.after = after, .under_way = true}, timeout_,
                [this](Result<protocol::StatusPage> page) { Take(std::move(page)); });
}

void ShardWatch::Take(Result<protocol::StatusPage> page) {
  if (!page) {
    look_.away = page.error().message;
    look_.followed.reset();
    Tell();
    return AskLater();
  }
  if (pages_++ == 0) {
    coming_.nodes = std::move(page->nodes);
    coming_.object_count = page->shard.objects;
    coming_.process = std::move(page->shard.process);
    coming_.members = std::move(page->shard.members);
  }
  std::ranges::move(page->page.objects, std::back_inserter(coming_.objects));
  coming_.all = !page->page.more;
  const bool enough = pages_ == kMostPages || coming_.objects.size() >= kMostObjects;
  if (page->page.more && page->page.reached && !enough) return AskForPage(page->page.reached);
  coming_.at = Now();
  coming_.followed = std::move(look_.followed);
  look_ = std::exchange(coming_, {});
  if (followed_) AskForFollowed();
  Tell();
  AskLater();
}

void ShardWatch::AskForFollowed() {
  port_->Find(*followed_, timeout_,
              [this, object = *followed_](Result<protocol::ObjectView> found) {
                if (followed_ != object) return;
                look_.followed = std::move(found);
                Tell();
              });
}

void ShardWatch::Tell() {
  told_once_ = true;
  tell_();
}

void ShardWatch::AskLater() {
  pause_.expires_after(between_);
  pause_.async_wait([this](asio::error_code error) {
    if (!error) AskForPage(std::nullopt);
  });
}

}  // namespace hoplite::cli::top
