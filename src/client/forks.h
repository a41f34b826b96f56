// Forks: tells the parts of the client library when this process forks.
#pragma once

#include <hoplite/result.h>

namespace hoplite::client {

// By pthread_atfork, so of fork() only: vfork and posix_spawn call exec at once, and whoever clones
// processes by hand is on his own. Listeners come and go on any thread, not while a fork is under
// way. In the child none is left.
class Forks {
 public:
  // All three are called by the thread that forks, and must not wait for another one.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void BeforeFork() = 0;
    virtual void AfterFork() = 0;  // in the parent, also when there is no child after all
    virtual void InChild() = 0;    // where no other thread is, and any lock may be held by one
  };

  // resource_exhausted: no memory for that.
  static Result<void> Add(Listener& listener);
  // Once it returns nothing of it is called any more.
  static void Remove(Listener& listener);
};

}  // namespace hoplite::client
