// The page of the demo's directory, in a browser.
#pragma once

#include <string>

#include "cli/demo/screen.h"
#include "cli/stop_signal.h"

namespace hoplite::cli::demo {

// Says where it is; where there is a display, xdg-open is asked to show it.
void ShowPage(const std::string& address, Screen& screen);
// Returns at a line or the end of standard input, a signal, or after 10 minutes.
void KeepPage(const StopSignal& stop, Screen& screen);

}  // namespace hoplite::cli::demo
