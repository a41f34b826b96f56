// One node puts an object, all others get it at once: each passes on what it has so far.
//
// The cluster lives in this process, to have one program. Anywhere else a client comes from
// hoplite::Client::Connect("/run/hoplite.sock"), and the rest of the program stays the same.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <hoplite/hoplite.h>

namespace {

int Fail(const hoplite::Error& error) {
  std::fprintf(stderr, "%s\n", error.ToString().c_str());
  return 1;
}

}  // namespace

int main() {
  using namespace std::chrono_literals;
  const auto cluster = hoplite::LocalCluster::Start({.nodes = 4});
  if (!cluster) return Fail(cluster.error());

  const hoplite::ObjectId weights = hoplite::ObjectId::FromName("weights");
  std::vector<hoplite::Future<hoplite::Buffer>> receivers;  // may ask before the object exists
  for (std::size_t i = 1; i < (*cluster)->size(); ++i) {
    receivers.push_back((*cluster)->client(i).GetAsync(weights, {.timeout = 30s}));
  }
  const std::string bytes(16 << 20, 'w');
  const auto put = (*cluster)->client(0).Put(bytes, {.id = weights});
  if (!put) return Fail(put.error());

  for (const auto& receiver : receivers) {
    const auto view = receiver.Wait();  // shared memory of the receiver's node, not copied
    if (!view) return Fail(view.error());
    std::printf("%zu bytes, %s\n", view->bytes().size(), view->view() == bytes ? "equal" : "WRONG");
  }
}
