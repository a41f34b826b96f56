// Puts an object at one node, gets it at another. Exit status 0 if the bytes are the same.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <vector>

#include <hoplite/hoplite.h>

namespace {

int Fail(const hoplite::Error& error) {
  std::cerr << error.ToString() << '\n';
  return 1;
}

}  // namespace

int main() {
  const auto cluster = hoplite::LocalCluster::Start({.nodes = 2});
  if (!cluster) return Fail(cluster.error());
  const std::vector<std::byte> bytes(1 << 20, std::byte{42});

  hoplite::Client writer = (*cluster)->client(0);
  const auto id = writer.Put(bytes);
  if (!id) return Fail(id.error());

  hoplite::Client reader = (*cluster)->client(1);
  const auto view = reader.Get(*id, {.timeout = std::chrono::seconds(20)});
  if (!view) return Fail(view.error());
  return std::ranges::equal(view->bytes(), bytes) ? 0 : 1;
}
