// Standard input, output and error of a program that may have been started without some of them.
#pragma once

namespace hoplite::cli {

// Runs before anything else of the program, also before libraries are initialised, since some
// (Asio) open descriptors. A stream that is closed (`>&-`) gets /dev/null, opened the wrong way
// round. So no later descriptor takes its number (a socket numbered 1 would be printed into), and
// reading or writing it is an error, as it was. Makes system calls only, since no library is ready.
void OccupyStandardStreams();
// False: one is still closed, /dev/null could not be opened.
bool StandardStreamsAreOpen();

}  // namespace hoplite::cli
