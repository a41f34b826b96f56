// Standard input, output and error of a program that may have been started without some of them.
#pragma once

namespace hoplite::cli {

// Before anything of the program runs, also before the initialisation of the libraries, which open
// descriptors (gRPC's): what is closed (`>&-`) gets /dev/null, opened the wrong way round. So no
// descriptor of ours takes its number (a socket as 1 would be printed into), and reading or writing
// it is an error, as it was. Only system calls, no library is ready.
void OccupyStandardStreams();
// False: one is still closed, /dev/null could not be opened.
bool StandardStreamsAreOpen();

}  // namespace hoplite::cli
