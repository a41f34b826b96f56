// Connection: the client's end of the local protocol. There is one implementation of the client,
// and it always speaks this protocol, also inside the node's own process (through a socketpair,
// with the node's mapping instead of one of its own): one code path, one set of tests.
//
// A thread of its own, the reader, reads answers and settles what waits for them; it calls what
// users want called then, also when the connection has ended. Decides: nothing. Must never: leave a
// request unsettled when the connection has ended, or a pin behind whose answer came after its
// requester had given up. Thread-safe. The last owner may go on any thread, the reader's too: it
// may be held by a function that is called there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>

#include <hoplite/result.h>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "base/own_process.h"
#include "base/time.h"
#include "client/background.h"
#include "client/forks.h"
#include "client/outgoing.h"
#include "client/pending.h"
#include "client/ready_calls.h"
#include "client/segment_map.h"
#include "hoplite/v1/local.pb.h"
#include "wire/local_protocol.h"
#include "wire/message_frames.h"

namespace hoplite::client {

// Hears what the node says unasked about one draft or subscription. On the reader's thread.
class NewsSink {
 public:
  virtual ~NewsSink() = default;
  virtual void OnNews(const local::Answer& news) = 0;
  // Nothing will follow.
  virtual void OnEnd(const Error& why) = 0;
};

class Connection : public Forks::Listener {
 public:
  // Takes the connected socket. `in_process`: the node's own mapping; empty for a worker process,
  // which gets descriptors.
  static Result<std::shared_ptr<Connection>> Attach(int socket, SegmentMap in_process,
                                                    Time deadline);
  // A connection that was never made: all requests answer `why`.
  static std::shared_ptr<Connection> Ended(Error why);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The first of so many that belong together.
  std::uint64_t NextId(std::uint64_t count = 1) {
    return next_id_.fetch_add(count, std::memory_order_relaxed);
  }
  // Sends a request that is answered; gives it an id unless it has one, and the deadline.
  PendingPtr Begin(local::Request request, Time deadline,
                   FileDescriptor descriptor = FileDescriptor());
  // Settled by an answer to that id, or else by the end of the connection: without such a request,
  // by the end alone.
  PendingPtr UntilEnd(std::uint64_t id, std::uint32_t count = 1);
  // Begin, and wait. An error in the answer is the result's error.
  Result<local::Answer> Call(local::Request request, Time deadline);
  // Waits for what was begun with this deadline. A node that is silent after the deadline is not
  // waited for.
  const Result<local::Answer>& Finish(const PendingPtr& pending, Time deadline);
  // Waits until one of several is settled. An error says why none is; they go on.
  Result<void> FinishAny(std::span<Pending* const> pendings, Time deadline) const;
  // Of an outcome that is a timeout: waits for the deadline itself.
  static void HoldBack(const Pending& settled, Time deadline);
  // The wait alone. False: the node is silent, or the thread was interrupted.
  bool WaitForAnswer(Pending& pending, Time deadline) const;
  // Nobody wants the answer any more; what it made, or will make, is released.
  void Drop(const PendingPtr& pending);
  // Settles it with `why`, unless it is already.
  void GiveUp(Pending& pending, Error why);
  // False if it was settled before.
  bool Settle(Pending& pending, Result<local::Answer> outcome);
  // The reader calls `function` once `pending` is settled, soon if it is. When a node does not
  // answer in time the reader calls `give_up`, which must settle it. Without a reader (the
  // connection never was, or is another process's) `function` is called at once, or by whoever settles
  // `pending`.
  void OnReady(const PendingPtr& pending, Time deadline, ReadyCalls::Function give_up,
               ReadyCalls::Function function);
  // None of the functions of it is called, or running, any more.
  void Forget(const Pending& pending);
  // How long a node is waited for that owes an answer by `deadline`: while it answers others it may
  // take a second more.
  Time LastMoment(Time deadline) const;
  // Sends a request that is not answered.
  void Tell(const local::Request& request);
  void Release(std::uint64_t made_by, std::uint32_t count = 1);

  void AddSink(std::uint64_t id, std::weak_ptr<NewsSink> sink);
  void RemoveSink(std::uint64_t id);

  // Cancels what waits, leaves and refuses new requests; pins stay.
  void Close();
  // Tells the node that the client is closed: it owns nothing any more.
  void Leave();

  // Whether the connection has ended. Every thread that was answered so finds it true.
  bool lost() const { return lost_; }
  // This process was forked from the one that made it, and can use nothing of it: all calls answer
  // so at once.
  bool inherited() const { return !process_.here(); }
  Background& background() { return background_; }
  static Error Inherited() { return OwnProcess::NotHere("the client"); }
  const Result<local::Answer>& inherited_answer() const { return inherited_; }
  bool has_reader() const { return socket_ >= 0 && !inherited(); }
  // Whether this thread is the one that would bring an answer: then it must not wait for one.
  bool on_reader() const { return reader_.get_id() == std::this_thread::get_id(); }
  const std::string& node() const { return node_; }  // its name
  std::uint32_t shards() const { return shards_; }   // of its directory; 0: never attached
  const std::vector<std::string>& directory() const { return directory_; }  // their HOST:PORT
  const SegmentMap& readable() const { return readable_; }
  // After the answer to a Create: what drafts lie in.
  const SegmentMap& writable() const { return in_process_ ? readable_ : writable_; }
  // Whether a Create has to ask for the descriptor of that.
  bool lacks_writable() const { return !in_process_ && !writable_mapped_; }

 private:
  Connection(int socket, int wake, SegmentMap in_process);
  ~Connection() override;
  static std::shared_ptr<Connection> Make(int socket, int wake, SegmentMap in_process);
  static void Destroy(Connection* connection);
  Result<void> Greet(bool in_process, Time deadline);
  Result<void> Send(const local::Request& request, FileDescriptor descriptor = FileDescriptor());
  Result<void> OnSent(const Result<bool>& waits);

  // By its pipe the node knows when this process is gone, and when each of its forked children is:
  // the child keeps the one of that moment, so this process takes another.
  void BeforeFork() override { outgoing_.Hold(); }
  void AfterFork() override;
  void InChild() override;

  // On the reader's thread.
  static void RunReader(Connection* connection);
  void Read();
  int PatienceMs() const;
  void WaitForCalls();
  Result<bool> WaitForBytes();
  Result<void> ReadSome();
  void TakeDescriptor(FileDescriptor descriptor);
  void Map(int descriptor, SegmentMap::Access access, SegmentMap& map);
  Result<local::Answer> CheckMapped(local::Answer answer);
  Result<void> HandleMessages();
  Result<void> Handle(local::Answer answer);
  void HandleNews(const local::Answer& news);
  void End(const Error& why);

  int socket_;  // -1 in a forked child
  const bool in_process_;
  const OwnProcess process_;
  const Result<local::Answer> inherited_;  // what Finish answers in a forked child
  const int wake_;                         // tells the reader that something waits for room
  std::atomic<std::uint64_t> next_id_{1};
  std::string node_;  // set before Attach returns, as are the next two
  std::uint32_t shards_ = 0;
  std::vector<std::string> directory_;
  SegmentMap readable_;
  SegmentMap writable_;  // set before the answer to the Create that asked for it
  std::atomic<bool> writable_mapped_{false};
  bool attached_ = false;          // the reader's
  std::optional<Error> unmapped_;  // why the last descriptor could not be had or mapped
  wire::MessageFrames frames_{wire::kMaxLocalAnswer};

  FileDescriptor pipe_;  // its write end
  Outgoing outgoing_;
  std::atomic<bool> lost_{false};
  std::atomic<Time> heard_{Time::min()};  // when the node last said anything
  ReadyCalls ready_calls_{[this](Time deadline) { return LastMoment(deadline); }};
  Background background_;
  std::atomic<bool> stopping_{false};  // the last owner has gone
  bool orphaned_ = false;              // on the reader's thread, which destroys it then

  Mutex mutex_;
  std::unordered_map<std::uint64_t, PendingPtr> pending_ HOPLITE_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::weak_ptr<NewsSink>> sinks_ HOPLITE_GUARDED_BY(mutex_);
  std::optional<Error> ended_ HOPLITE_GUARDED_BY(mutex_);  // why nothing can be asked any more

  std::thread reader_;
};

}  // namespace hoplite::client
