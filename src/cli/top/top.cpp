#include "cli/top/top.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/try.h"
#include "cli/top/paint.h"
#include "cli/top/terminal.h"
#include "cli/top/watches.h"
#include "net/timer.h"

namespace hoplite::cli::top {
namespace {

using namespace std::chrono_literals;

constexpr Duration kBetweenLive = 1s;
constexpr Duration kBetweenOnce = 300ms;
constexpr Duration kForRates = 3s;
// An escape that nothing follows for so long is the key, not the begin of a sequence.
constexpr Duration kEscapeRests = 50ms;

WatchOptions WatchesOf(const TopOptions& options, Duration between) {
  return {.shards = PlacesOf(options.shards),
          .security = options.security,
          .timeout = options.timeout,
          .between = between};
}

// What a person sees, and what their keys do.
class Live {
 public:
  explicit Live(const TopOptions& options)
      : view_(options.view),
        watches_(loop_, WatchesOf(options, kBetweenLive), [this] { Draw(); }),
        tick_(loop_),
        escape_(loop_),
        ends_(loop_, SIGINT, SIGTERM, SIGHUP),
        resized_(loop_, SIGWINCH) {
    ends_.add(SIGQUIT);
    watches_.Follow(view_.followed);
  }

  Result<void> Run() {
    ends_.async_wait([this](asio::error_code error, int) {
      if (!error) loop_.stop();
    });
    TRY_ASSIGN(terminal_, Terminal::Open(loop_, [this](std::string_view typed) { Hear(typed); }));
    WatchSize();
    Tick();
    loop_.run();
    terminal_.reset();
    return {};
  }

 private:
  void Draw() {
    if (terminal_) terminal_->Show(Paint(watches_.Look(), view_, terminal_->size()));
  }
  // Time passes also while nobody answers.
  void Tick() {
    Draw();
    tick_.expires_after(1s);
    tick_.async_wait([this](asio::error_code error) {
      if (!error) Tick();
    });
  }
  void WatchSize() {
    resized_.async_wait([this](asio::error_code error, int) {
      if (error) return;
      Draw();
      WatchSize();
    });
  }
  void Hear(std::string_view typed) {
    if (typed.empty()) return loop_.stop();
    Press(keys_.Take(typed));
    escape_.cancel();
    if (!keys_.waits()) return;
    escape_.expires_after(kEscapeRests);
    escape_.async_wait([this](asio::error_code error) {
      if (!error) Press(keys_.Rest());
    });
  }
  void Press(const std::vector<Key>& keys) {
    for (const Key key : keys) {
      if (key == Key::kQuit) return loop_.stop();
      view_ = top::Press(view_, key, watches_.Look());
    }
    watches_.Follow(view_.followed);
    Draw();
  }

  asio::io_context loop_{1};
  View view_;
  KeyReader keys_;
  std::unique_ptr<Terminal> terminal_;
  Watches watches_;
  net::Timer tick_;
  net::Timer escape_;
  asio::signal_set ends_;
  asio::signal_set resized_;
};

}  // namespace

Result<Picture> LookOnce(const TopOptions& options) {
  asio::io_context loop(1);
  const Time begun = Now();
  const auto enough = [&](Watches& watches) {
    const Picture& picture = watches.Look();
    const bool followed = !options.view.followed || picture.followed || watches.none_answers();
    const bool rates = !watches.lacks_rates() || Now() - begun > kForRates;
    return watches.all_told() && followed && rates;
  };
  std::unique_ptr<Watches> watches;
  watches = std::make_unique<Watches>(loop, WatchesOf(options, kBetweenOnce), [&] {
    if (watches && enough(*watches)) loop.stop();
  });
  watches->Follow(options.view.followed);
  // Each question has its deadline; this is for what comes at it.
  loop.run_for(std::max<Duration>(options.timeout, kForRates) + 1s);
  Picture picture = watches->Look();
  if (!watches->none_answers()) return picture;
  return std::unexpected(
      Error(ErrorCode::kUnavailable,
            picture.remarks.empty()
                ? "no shard answers in time"
                : fmt::format("no shard answers: {}", fmt::join(picture.remarks, "; "))));
}

Result<void> ShowLive(const TopOptions& options) { return Live(options).Run(); }

}  // namespace hoplite::cli::top
