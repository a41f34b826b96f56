// Puts or gets thousands of small objects through one node: a worker process of chaos rounds, since
// a process for each call would take the whole round. Ends as `hoplite` does: with status 0, or
// with the first error as "code: sentence" and status 1.
//
//   chaos_bulk SOCKET put|get PREFIX COUNT SIZE TIMEOUT_MS
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <hoplite/hoplite.h>

namespace hoplite {
namespace {

constexpr int kThreads = 8;

struct Job {
  bool puts;
  std::string prefix;
  std::size_t count;
  std::size_t size;
  std::chrono::steady_clock::time_point deadline;

  std::string NameOf(std::size_t i) const { return prefix + "-" + std::to_string(i); }
  // Its own bytes for each.
  std::string BytesOf(std::size_t i) const {
    std::string bytes;
    while (bytes.size() < size) bytes += ObjectId::FromName(NameOf(i)).ToHex();
    bytes.resize(size);
    return bytes;
  }
  std::chrono::milliseconds left() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(deadline -
                                                                 std::chrono::steady_clock::now());
  }
};

Result<void> PutOne(Client& client, const Job& job, std::size_t i) {
  const auto put =
      client.Put(job.BytesOf(i), {.id = ObjectId::FromName(job.NameOf(i)), .timeout = job.left()});
  if (put) return {};
  return std::unexpected(put.error());
}

Result<void> GetOne(Client& client, const Job& job, std::size_t i) {
  const auto got = client.Get(ObjectId::FromName(job.NameOf(i)), {.timeout = job.left()});
  if (!got) return std::unexpected(got.error());
  const std::string bytes = job.BytesOf(i);
  const auto view = got->bytes();
  if (view.size() == bytes.size() && std::memcmp(view.data(), bytes.data(), bytes.size()) == 0) {
    return {};
  }
  return std::unexpected(Error(ErrorCode::kDataLoss, "wrong bytes of " + job.NameOf(i)));
}

Result<void> Run(const std::string& socket, const Job& job) {
  auto client = Client::Connect(socket);
  if (!client) return std::unexpected(client.error());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::optional<Error> first;
  const auto work = [&] {
    for (std::size_t i = next++; i < job.count; i = next++) {
      const auto done = job.puts ? PutOne(*client, job, i) : GetOne(*client, job, i);
      if (done) continue;
      next = job.count;
      const std::lock_guard lock(mutex);
      if (!first) first = done.error();
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  threads.clear();
  if (first) return std::unexpected(*first);
  return {};
}

}  // namespace
}  // namespace hoplite

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 6 || (words[1] != "put" && words[1] != "get")) {
    std::cerr << "usage: chaos_bulk SOCKET put|get PREFIX COUNT SIZE TIMEOUT_MS\n";
    return 2;
  }
  const auto timeout = std::chrono::milliseconds(std::stoll(words[5]));
  const hoplite::Job job{words[1] == "put", words[2], std::stoull(words[3]), std::stoull(words[4]),
                         std::chrono::steady_clock::now() + timeout};
  const auto done = hoplite::Run(words[0], job);
  if (done) return 0;
  std::cerr << done.error().ToString() << '\n';
  return 1;
}
