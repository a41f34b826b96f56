// A user's program in C++20, from the headers alone: numbers, errors, a sum.
#include <chrono>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

#include <hoplite/hoplite.h>

namespace {

using namespace std::chrono_literals;

// A function of the user's own that fails as the library does.
hoplite::Result<double> Mean(const hoplite::Buffer& numbers) {
  const auto values = numbers.as<float>();
  if (!values) return hoplite::Unexpected(values.error());
  if (values->empty()) {
    return hoplite::Unexpected(
        hoplite::Error(hoplite::ErrorCode::kInvalidArgument, "no numbers have no mean"));
  }
  return std::accumulate(values->begin(), values->end(), 0.0) / double(values->size());
}

hoplite::Result<double> MeanOfSum(hoplite::LocalCluster& cluster) {
  hoplite::ReduceOptions options;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    const auto put = cluster.client(i).Put(std::vector<float>(1000, float(i)));
    if (!put) return hoplite::Unexpected(put.error());
    options.sources.push_back(*put);
  }
  hoplite::Client client = cluster.client(0);
  return client.Reduce(options)
      .and_then([&](hoplite::Reduction sum) { return client.Get(sum.target(), {.timeout = 20s}); })
      .and_then(Mean);
}

}  // namespace

int main() {
  const auto cluster = hoplite::LocalCluster::Start({.nodes = 3, .memory_bytes = 16 << 20});
  if (!cluster) return 1;
  const auto mean = MeanOfSum(**cluster);
  if (mean != 3.0) {
    std::fprintf(stderr, "%s\n", mean ? "WRONG" : mean.error().ToString().c_str());
    return 1;
  }
  const auto text = (*cluster)->client(0).Put("123", {.timeout = 20s}).and_then([&](auto id) {
    return (*cluster)->client(1).Get(id, {.timeout = 20s});
  });
  const auto no_mean = text.and_then(Mean);
  return !no_mean && no_mean.error().code == hoplite::ErrorCode::kInvalidArgument ? 0 : 1;
}
