// Terminal: a screen of its own for a command that shows something and hears keys. While one lives,
// the terminal gives each key at once and shows nothing of it; afterwards it is as it was. On one loop.
//
// What is to be shown while the terminal takes nothing (Ctrl-S) is forgotten for what comes later:
// nothing here waits for a person.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <termios.h>

#include <hoplite/result.h>

#include "base/file_descriptor.h"
#include "cli/top/paint.h"

namespace hoplite::cli::top {

class Terminal {
 public:
  // Standard input and output are terminals.
  static bool there();
  // `hear` gets what is typed; nothing: the terminal is gone, and this is the last call.
  //   unavailable  the terminal can't be opened
  static Result<std::unique_ptr<Terminal>> Open(asio::io_context& loop,
                                                std::function<void(std::string_view)> hear);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Size size();
  void Show(const std::vector<Line>& lines);

 private:
  Terminal(asio::io_context& loop, int in, int out, std::function<void(std::string_view)> hear)
      : in_(loop, in), out_(loop, out), hear_(std::move(hear)) {}
  Result<void> Begin();
  void Listen();
  void Write();

  // Opened anew, so that no other process finds its standard output not blocking.
  asio::posix::stream_descriptor in_;
  asio::posix::stream_descriptor out_;
  const std::function<void(std::string_view)> hear_;
  termios before_{};
  bool begun_ = false;
  std::array<char, 256> heard_{};
  std::string written_;  // is being written
  std::string next_;     // the newest picture, to be written then
  bool writing_ = false;
};

}  // namespace hoplite::cli::top
