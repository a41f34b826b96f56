// The comparison's operations in MPI: each argument is one, run once after a warm-up of its kind.
//
//   broadcast:BYTES[:MICROSECONDS]   from rank 0; rank i joins that much later than rank i - 1
//   point_to_point:BYTES             from rank 0 to rank 1
//
// Rank 0 names a moment soon enough for everybody to be there, all start by the machine's common
// clock, and rank 0 prints one JSON line with the moments at which each rank began and ended.
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include <mpi.h>

#include "agent.h"

namespace {

using hoplite::bench::JsonArray;
using hoplite::bench::Nanoseconds;
using hoplite::bench::Now;
using hoplite::bench::SleepUntil;

constexpr Nanoseconds kLead = 200'000'000;

struct Operation {
  std::string kind;
  std::size_t bytes = 0;
  Nanoseconds step = 0;
};

Operation Parse(std::string text) {
  std::replace(text.begin(), text.end(), ':', ' ');
  std::istringstream words(text);
  Operation operation;
  words >> operation.kind >> operation.bytes >> operation.step;
  operation.step *= 1000;
  return operation;
}

// The byte at a place, different for every place and operation that could be mixed up.
char Pattern(std::size_t place) { return static_cast<char>(place * 2654435761u >> 13); }

void Transfer(const Operation& operation, int rank, std::vector<char>& buffer) {
  const int count = static_cast<int>(operation.bytes);
  if (operation.kind == "broadcast")
    MPI_Bcast(buffer.data(), count, MPI_BYTE, 0, MPI_COMM_WORLD);
  else if (rank == 0)
    MPI_Send(buffer.data(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  else if (rank == 1)
    MPI_Recv(buffer.data(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

bool Intact(const std::vector<char>& buffer) {
  for (std::size_t i = 0; i < buffer.size(); ++i)
    if (buffer[i] != Pattern(i)) return false;
  return true;
}

std::vector<Nanoseconds> Gather(Nanoseconds mine, int ranks) {
  std::vector<Nanoseconds> all(static_cast<std::size_t>(ranks));
  MPI_Gather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  return all;
}

void Run(const std::string& text, int rank, int ranks) {
  const Operation operation = Parse(text);
  const bool takes_part = operation.kind == "broadcast" || rank < 2;
  std::vector<char> buffer(operation.bytes);
  if (rank == 0)
    for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = Pattern(i);

  // Connections, and the protocol of large messages, are in place before the clock starts.
  Operation warm_up = operation;
  warm_up.bytes = std::min<std::size_t>(operation.bytes, 256 << 10);
  Transfer(warm_up, rank, buffer);

  Nanoseconds moment = Now() + kLead;
  MPI_Bcast(&moment, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  SleepUntil(moment + rank * operation.step);
  const Nanoseconds begin = Now();
  Transfer(operation, rank, buffer);
  const Nanoseconds end = Now();

  const auto begins = Gather(begin, ranks);
  const auto ends = Gather(end, ranks);
  if (takes_part && !Intact(buffer)) {
    std::fprintf(stderr, "rank %d has wrong bytes after %s\n", rank, text.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) {
    std::printf("{\"operation\":\"%s\",\"begins\":%s,\"ends\":%s}\n", text.c_str(),
                JsonArray(begins).c_str(), JsonArray(ends).c_str());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; ++i) Run(argv[i], rank, ranks);
  MPI_Finalize();
  return 0;
}
