#include "cli/top/terminal.h"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/write.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/try.h"

namespace hoplite::cli::top {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // another screen, no cursor
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr int kPatienceMs = 200;

Result<int> OpenAnew(int fd) {
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  const int own = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (own >= 0) return own;
  return std::unexpected(
      Error(ErrorCode::kUnavailable,
            fmt::format("can't open the terminal: {}; --once needs none", std::strerror(errno))));
}

std::string_view Sequence(Style style) {
  switch (style) {
    case Style::kHeading:
      return "\x1b[1m";
    case Style::kTrouble:
      return "\x1b[31m";
    case Style::kChosen:
      return "\x1b[7m";
    case Style::kPlain:
      break;
  }
  return "";
}

// Each line over the one that stands there, so that nothing flickers.
std::string Frame(const std::vector<Line>& lines) {
  std::string frame = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    frame += fmt::format("{}{}\x1b[0m\x1b[K{}", Sequence(lines[i].style), lines[i].text,
                         i + 1 < lines.size() ? "\r\n" : "\x1b[J");
  }
  return frame;
}

}  // namespace

bool Terminal::there() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

Result<std::unique_ptr<Terminal>> Terminal::Open(asio::io_context& loop,
                                                 std::function<void(std::string_view)> hear) {
  TRY_ASSIGN(const int in, OpenAnew(STDIN_FILENO));
  FileDescriptor kept(in);
  TRY_ASSIGN(const int out, OpenAnew(STDOUT_FILENO));
  std::unique_ptr<Terminal> terminal(new Terminal(loop, kept.Release(), out, std::move(hear)));
  TRY(terminal->Begin());
  return terminal;
}

Result<void> Terminal::Begin() {
  if (::tcgetattr(in_.native_handle(), &before_) != 0) {
    return std::unexpected(Error(ErrorCode::kUnavailable,
                                 fmt::format("can't ask the terminal: {}", std::strerror(errno))));
  }
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  // Whoever is suspended leaves the terminal as it is.
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  begun_ = true;
  ::tcsetattr(in_.native_handle(), TCSANOW, &raw);
  written_ = kEnter;
  Write();
  Listen();
  return {};
}

Terminal::~Terminal() {
  if (!begun_) return;
  const int out = out_.native_handle();
  pollfd wanted{out, POLLOUT, 0};
  ::poll(&wanted, 1, kPatienceMs);
  // If the terminal takes nothing, or is gone, nobody sees the difference.
  static_cast<void>(::write(out, kLeave.data(), kLeave.size()));
  ::tcsetattr(in_.native_handle(), TCSANOW, &before_);
}

Size Terminal::size() {
  winsize size{};
  ::ioctl(out_.native_handle(), TIOCGWINSZ, &size);
  if (size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

void Terminal::Show(const std::vector<Line>& lines) {
  next_ = Frame(lines);
  if (writing_) return;
  written_ = std::exchange(next_, {});
  Write();
}

void Terminal::Write() {
  writing_ = true;
  asio::async_write(out_, asio::buffer(written_), [this](asio::error_code error, std::size_t) {
    if (error) return;  // reading says it, too
    writing_ = false;
    written_ = std::exchange(next_, {});
    if (!written_.empty()) Write();
  });
}

void Terminal::Listen() {
  in_.async_read_some(asio::buffer(heard_), [this](asio::error_code error, std::size_t bytes) {
    if (error == asio::error::operation_aborted) return;
    hear_(std::string_view(heard_.data(), error ? 0 : bytes));
    if (!error) Listen();
  });
}

}  // namespace hoplite::cli::top
