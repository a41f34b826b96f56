// PerGroup: one value per group of an object's stripes. The first group's lies in it, since most
// objects have no other; a group that nothing was made for has an empty value. A value type.
#pragma once

#include <cstddef>
#include <vector>

#include "base/boxed.h"

namespace hoplite::planner {

template <typename T>
class PerGroup {
 public:
  const T& operator[](std::size_t group) const {
    static const T none{};
    if (group == 0) return first_;
    const std::vector<T>& others = others_.OrEmpty();
    return group <= others.size() ? others[group - 1] : none;
  }
  // Made if it is absent.
  T& Make(std::size_t group) {
    if (group == 0) return first_;
    std::vector<T>& others = others_.Make();
    if (others.size() < group) others.resize(group);
    return others[group - 1];
  }
  // Calls `what` with each value that there is.
  template <typename What>
  void ForEach(What what) {
    what(first_);
    if (!others_) return;
    for (T& other : *others_) what(other);
  }
  template <typename What>
  void ForEach(What what) const {
    what(first_);
    for (const T& other : others_.OrEmpty()) what(other);
  }
  template <typename Check>
  bool AllOf(Check check) const {
    if (!check(first_)) return false;
    for (const T& other : others_.OrEmpty()) {
      if (!check(other)) return false;
    }
    return true;
  }

 private:
  T first_{};
  Boxed<std::vector<T>> others_;
};

}  // namespace hoplite::planner
