// The comparison's operations in MPI: each argument is one, run once after a warm-up of its kind.
//
//   broadcast:BYTES[:MICROSECONDS]   from rank 0; rank i joins that much later than rank i - 1
//   point_to_point:BYTES             from rank 0 to rank 1
//   round_trip:BYTES:TIMES           and back, so many times one after another
//   reduce:BYTES[:MICROSECONDS]      float32 sums to rank 0; the last rank joins that much later
//   allreduce:BYTES                  to everybody
//   gather:BYTES                     everybody's array to rank 0
//   allgather:BYTES                  to everybody
//
// Rank 0 names a moment soon enough for everybody to be there and prints it in one JSON line, all
// start by the machine's common clock, and rank 0 prints another line with the moments at which
// each rank began and ended.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <mpi.h>

#include "agent.h"

namespace {

using hoplite::bench::Element;
using hoplite::bench::JsonArray;
using hoplite::bench::Nanoseconds;
using hoplite::bench::Now;
using hoplite::bench::SleepUntil;
using hoplite::bench::Total;

constexpr Nanoseconds kLead = 200'000'000;

struct Operation {
  std::string kind;
  std::size_t bytes = 0;
  Nanoseconds step = 0;
  int times = 1;
};

Operation Parse(std::string text) {
  std::replace(text.begin(), text.end(), ':', ' ');
  std::istringstream words(text);
  Operation operation;
  words >> operation.kind >> operation.bytes;
  if (operation.kind == "round_trip") {
    words >> operation.times;
  } else {
    words >> operation.step;
    operation.step *= 1000;
  }
  return operation;
}

// How much later than rank 0 this one joins.
Nanoseconds Delay(const Operation& operation, int rank, int ranks) {
  if (operation.kind == "broadcast") return rank * operation.step;
  return rank == ranks - 1 ? operation.step : 0;
}

// What a rank sends and receives: `in` is its array, `out` what the operation gives it.
class Transfer {
 public:
  Transfer(const std::string& kind, std::size_t bytes, int rank, int ranks)
      : kind_(kind),
        rank_(static_cast<std::size_t>(rank)),
        ranks_(static_cast<std::size_t>(ranks)),
        in_(bytes / sizeof(float)) {
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = Element(SourceRank(), i);
    if (copies() && rank > 0) std::fill(in_.begin(), in_.end(), -1.0f);
    const bool gathers = kind_ == "gather" || kind_ == "allgather";
    const bool apart = !copies() || (kind_ == "round_trip" && rank == 0);
    if (apart && takes()) out_.assign(gathers ? in_.size() * ranks_ : in_.size(), -1.0f);
  }

  void Run() {
    const int count = static_cast<int>(in_.size());
    if (kind_ == "broadcast")
      MPI_Bcast(in_.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    else if (kind_ == "reduce")
      MPI_Reduce(in_.data(), out_.data(), count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    else if (kind_ == "allreduce")
      MPI_Allreduce(in_.data(), out_.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (kind_ == "gather")
      MPI_Gather(in_.data(), count, MPI_FLOAT, out_.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    else if (kind_ == "allgather")
      MPI_Allgather(in_.data(), count, MPI_FLOAT, out_.data(), count, MPI_FLOAT, MPI_COMM_WORLD);
    else if (rank_ < 2)
      SendOrReceive(count);
  }

  bool Intact() const {
    if (!takes()) return true;
    const std::vector<float>& got = out_.empty() ? in_ : out_;
    for (std::size_t i = 0; i < got.size(); ++i)
      if (got[i] != Expected(i)) return false;
    return true;
  }

 private:
  // Rank 0 has sent when rank 1 receives; in a round trip it gets the same array back.
  void SendOrReceive(int count) {
    const bool back = kind_ == "round_trip";
    const int other = rank_ == 0 ? 1 : 0;
    float* arrived = out_.empty() ? in_.data() : out_.data();
    if (rank_ == 0) MPI_Send(in_.data(), count, MPI_FLOAT, other, 0, MPI_COMM_WORLD);
    if (rank_ == 1 || back)
      MPI_Recv(arrived, count, MPI_FLOAT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank_ == 1 && back) MPI_Send(in_.data(), count, MPI_FLOAT, other, 0, MPI_COMM_WORLD);
  }

  bool to_one() const { return kind_ == "point_to_point" || kind_ == "round_trip"; }
  bool copies() const { return kind_ == "broadcast" || to_one(); }
  bool takes() const {
    if (to_one()) return rank_ < 2;
    return rank_ == 0 || kind_ == "broadcast" || kind_.starts_with("all");
  }
  std::size_t SourceRank() const { return copies() ? 0 : rank_; }
  float Expected(std::size_t place) const {
    if (copies()) return Element(0, place);
    if (kind_.ends_with("gather")) return Element(place / in_.size(), place % in_.size());
    return Total(ranks_, place);
  }

  const std::string kind_;
  const std::size_t rank_;
  const std::size_t ranks_;
  std::vector<float> in_;
  std::vector<float> out_;
};

std::vector<Nanoseconds> Gather(Nanoseconds mine, int ranks) {
  std::vector<Nanoseconds> all(static_cast<std::size_t>(ranks));
  MPI_Gather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  return all;
}

void Run(const std::string& text, int rank, int ranks) {
  const Operation operation = Parse(text);
  // A smaller run first, so that connections, and the protocol of large messages, are in place
  // before the clock starts.
  Transfer(operation.kind, std::min<std::size_t>(operation.bytes, 256 << 10), rank, ranks).Run();
  Transfer transfer(operation.kind, operation.bytes, rank, ranks);

  Nanoseconds moment = Now() + kLead;
  if (rank == 0) {
    std::printf("{\"operation\":\"%s\",\"moment\":%lld}\n", text.c_str(),
                static_cast<long long>(moment));
    std::fflush(stdout);
  }
  MPI_Bcast(&moment, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  SleepUntil(moment + Delay(operation, rank, ranks));
  const Nanoseconds begin = Now();
  for (int i = 0; i < operation.times; ++i) transfer.Run();
  const Nanoseconds end = Now();

  const auto begins = Gather(begin, ranks);
  const auto ends = Gather(end, ranks);
  if (!transfer.Intact()) {
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
