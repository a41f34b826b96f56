// A trainer publishes a model after each step; workers on other nodes have the newest, and skip what
// comes too fast. Of the layer that does not change nothing is sent again.
//
// The cluster lives in this process, to have one program, as in broadcast.cpp.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include <hoplite/hoplite.h>

namespace {

constexpr std::uint64_t kLast = 20;

std::uint64_t Train(hoplite::Channel& policy, std::uint64_t step,
                    const std::vector<float>& frozen) {
  const std::vector<float> head(1000, static_cast<float>(step));
  const std::vector<hoplite::Part> model{
      {.name = "frozen",
       .bytes = std::as_bytes(std::span(frozen)),
       .dtype = "float32",
       .shape = {1024, 1024}},
      {.name = "head",
       .bytes = std::as_bytes(std::span(head)),
       .dtype = "float32",
       .shape = {1000}},
  };
  return policy.Publish(model, {.version = step}).value();
}

void Work(hoplite::Client client, std::size_t number) {
  const hoplite::Channel policy = client.OpenChannel("policy").value();
  hoplite::Snapshot model = policy.Get().value();
  while (model.version() < kLast) model = policy.Get({.after = model.id()}).value();
  const auto head = model.Find("head")->as<float>().value();  // shared memory, not copied
  std::printf("worker %zu has version %.0f\n", number, head.front());
}

}  // namespace

int main() try {
  const auto cluster = hoplite::LocalCluster::Start({.nodes = 4}).value();
  hoplite::Channel policy = cluster->client(0).OpenChannel("policy", {.keep = 2}).value();
  std::vector<std::thread> workers;
  for (std::size_t i = 1; i < cluster->size(); ++i) {
    workers.emplace_back(Work, cluster->client(i), i);
  }
  const std::vector<float> frozen(1 << 20, 1);
  for (std::uint64_t step = 1; step <= kLast; ++step) Train(policy, step, frozen);
  for (std::thread& worker : workers) worker.join();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
