#include "base/object_names.h"

#include <deque>
#include <unordered_map>

#include <pthread.h>

#include "base/mutex.h"

namespace hoplite {
namespace {

class Names {
 public:
  void Remember(const ObjectId& id, std::string_view name) {
    const MutexLock lock(mutex_);
    if (!names_.try_emplace(id, name).second) return;
    in_order_.push_back(id);
    if (in_order_.size() <= kMostNames) return;
    names_.erase(in_order_.front());
    in_order_.pop_front();
  }
  std::string Of(const ObjectId& id) {
    const MutexLock lock(mutex_);
    const auto known = names_.find(id);
    return known == names_.end() ? "" : known->second;
  }

  // Around a fork: the child is to find it unlocked, and whole.
  void Hold() HOPLITE_THREAD_SAFETY(no_thread_safety_analysis) { mutex_.Lock(); }
  void LetGo() HOPLITE_THREAD_SAFETY(no_thread_safety_analysis) { mutex_.Unlock(); }

 private:
  Mutex mutex_;
  std::unordered_map<ObjectId, std::string> names_ HOPLITE_GUARDED_BY(mutex_);
  std::deque<ObjectId> in_order_ HOPLITE_GUARDED_BY(mutex_);  // of their coming
};

// It outlives every thread.
Names& All() {
  static Names* const all = [] {
    ::pthread_atfork([] { All().Hold(); }, [] { All().LetGo(); }, [] { All().LetGo(); });
    return new Names;
  }();
  return *all;
}

}  // namespace

void RememberName(const ObjectId& id, std::string_view name) {
  if (!name.empty() && name.size() <= kMaxObjectNameBytes) All().Remember(id, name);
}

std::string RememberedName(const ObjectId& id) { return All().Of(id); }

}  // namespace hoplite
