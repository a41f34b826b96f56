#include "planner/books/sweeps.h"

#include <algorithm>
#include <utility>

namespace hoplite::planner {

void Sweeps::Add(NodeId node, Change change, Objects objects) {
  sweeps_.push_back({node, change, std::move(objects)});
  DropEmpty();
}

std::vector<Visit> Sweeps::Take(const ObjectId& object) {
  std::vector<Visit> visits;
  for (auto sweep = sweeps_.begin(); sweep != sweeps_.end(); ++sweep) {
    if (sweep->objects.erase(object) == 0) continue;
    visits.push_back({sweep->node, sweep->change, false});
    if (sweep->change == Change::kLost) continue;
    // A later change of the same node concerns what is still to be visited for this one, too.
    const auto later = std::find_if(sweep + 1, sweeps_.end(),
                                    [&](const Sweep& one) { return one.node == sweep->node; });
    if (later != sweeps_.end()) {
      later->objects.insert(object);
    } else {
      visits.back().last = true;
    }
  }
  DropEmpty();
  return visits;
}

void Sweeps::DropEmpty() {
  while (!sweeps_.empty() && sweeps_.front().objects.empty()) sweeps_.pop_front();
}

bool Sweeps::Has(const ObjectId& object) const {
  return std::ranges::any_of(sweeps_,
                             [&](const Sweep& one) { return one.objects.contains(object); });
}

void Sweeps::AddTo(Digest& digest) const {
  for (const Sweep& sweep : sweeps_) {
    digest.Add(Raw(sweep.node)).Add(sweep.change).Add(sweep.objects.size());
    sweep.objects.ForEach([&](const ObjectId& object) { digest.Add(object); });
  }
}

}  // namespace hoplite::planner
