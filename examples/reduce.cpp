// An allreduce: every node has an array, one client asks for their sum, everybody gets it. Who
// folds what emerges from where the arrays are and when they come; nobody declares a group.
//
// The cluster lives in this process, to have one program. Anywhere else a client comes from
// hoplite::Client::Connect("/run/hoplite.sock"), and the rest of the program stays the same.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
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

  // Named beforehand: a reduction may be asked for before its sources exist.
  std::vector<hoplite::ObjectId> gradients;
  for (std::size_t i = 0; i < (*cluster)->size(); ++i) {
    gradients.push_back(hoplite::ObjectId::FromName("gradient " + std::to_string(i)));
  }
  hoplite::Client asker = (*cluster)->client(0);
  const auto sum = asker.Reduce({.sources = gradients,
                                 .op = hoplite::Op::kSum,
                                 .dtype = hoplite::DType::kFloat32,
                                 .everyone_reads = true,
                                 .timeout = 30s});
  if (!sum) return Fail(sum.error());
  std::vector<hoplite::Future<hoplite::Buffer>> totals;  // asked for before there is anything
  for (std::size_t i = 0; i < (*cluster)->size(); ++i) {
    totals.push_back((*cluster)->client(i).GetAsync(sum->target(), {.timeout = 30s}));
  }

  for (std::size_t i = 0; i < (*cluster)->size(); ++i) {
    const std::vector<float> gradient(1 << 20, static_cast<float>(i + 1));
    const auto put =
        (*cluster)->client(i).Put(std::as_bytes(std::span(gradient)), {.id = gradients[i]});
    if (!put) return Fail(put.error());
  }

  for (const auto& total : totals) {
    const auto view = total.Wait();
    if (!view) return Fail(view.error());
    float first = 0;
    std::memcpy(&first, view->bytes().data(), sizeof first);
    std::printf("%zu bytes, 1 + 2 + 3 + 4 = %g\n", view->bytes().size(), first);
  }
  const auto outcome = sum->Wait();
  if (!outcome) return Fail(outcome.error());
  std::printf("%zu sources used, %zu not\n", outcome->used.size(), outcome->unused.size());
}
