// Counts constructions and destructions of an aggregate temporary inside a co_await expression.
// GCC 12 destroys it twice; exit status 1 then.
#include <coroutine>
#include <utility>

namespace {

int g_alive = 0;

struct Counted {
  Counted() { ++g_alive; }
  Counted(const Counted&) { ++g_alive; }
  Counted(Counted&&) noexcept { ++g_alive; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) noexcept = default;
  ~Counted() { --g_alive; }
};

struct Options {
  Counted member;
  int number = 0;
};

struct Task {
  struct promise_type {
    std::coroutine_handle<> waiter;
    int value = 0;
    Task get_return_object() {
      return Task{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        return h.promise().waiter ? h.promise().waiter : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_value(int v) { value = v; }
    void unhandled_exception() {}
  };
  explicit Task(std::coroutine_handle<promise_type> h) : handle(h) {}
  Task(Task&& other) noexcept : handle(std::exchange(other.handle, {})) {}
  Task(const Task&) = delete;
  ~Task() {
    if (handle) handle.destroy();
  }
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) {
    handle.promise().waiter = h;
    return handle;
  }
  int await_resume() { return handle.promise().value; }
  std::coroutine_handle<promise_type> handle;
};

Task Leaf(Options options) { co_return options.number; }
Task Root() { co_return co_await Leaf(Options{.member = {}, .number = 7}); }

}  // namespace

int main() {
  int value = 0;
  {
    Task root = Root();
    root.handle.resume();
    value = root.handle.promise().value;
  }
  return value == 7 && g_alive == 0 ? 0 : 1;
}
