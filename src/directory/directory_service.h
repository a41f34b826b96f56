// DirectoryService: one shard without its transport. It owns the DirectoryState, the members and
// their leases, all on one loop, which may be the transport's own.
//
// Is told: messages and ends of sessions, from any thread; what arrived since the last turn is
// applied, then planned once, and each session gets its actions as one batch (good trees come from
// planning batches). A turn is bounded, in events and in what it plans: what is left is for the
// next, between which the loop does other things. Decides nothing itself: Admission, Members,
// LeaseMonitor and DirectoryState do. Must never let one session's bad input disturb another.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <asio/io_context.hpp>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/metric.h"
#include "base/mutex.h"
#include "base/recorder.h"
#include "base/time.h"
#include "directory/admission.h"
#include "directory/lease_monitor.h"
#include "directory/members.h"
#include "directory/service_loop.h"
#include "directory/session.h"
#include "directory/shard_port.h"
#include "directory/shard_tally.h"
#include "directory/standing.h"
#include "planner/shard/directory_state.h"
#include "wire/directory_session.h"

namespace hoplite::directory {

struct ServiceOptions {
  planner::DirectoryOptions planner;
  Duration heartbeat = std::chrono::milliseconds(200);
  Duration lease = std::chrono::seconds(1);
  Duration grace = std::chrono::seconds(1);
  // What may wait for one node; while there is more, nothing that it says is acknowledged.
  std::uint64_t session_queue_bytes = 64 * 1024 * 1024;
  Pace pace;
  std::shared_ptr<const Standing> standing = {};  // null: the shard has one member
};

// Held by shared_ptr, since turns and timers of the loop keep it.
class DirectoryService : public std::enable_shared_from_this<DirectoryService> {
 public:
  DirectoryService(asio::io_context& loop, const ServiceOptions& options, Admission admission);
  DirectoryService(std::unique_ptr<ServiceLoop> loop, const ServiceOptions& options,
                   Admission admission);

  // Any thread.
  void Receive(SessionPtr session, wire::NodeMessage message);
  void Fail(SessionPtr session, Error why);  // it broke the protocol: ended with these words
  void Closed(SessionPtr session);           // its transport is gone
  void Find(const ObjectId& object, std::function<void(Result<protocol::ObjectView>)> done);
  // `done` runs on the loop: it should leave what costs time to another thread.
  void Status(const protocol::PageRequest& page, std::function<void(protocol::StatusPage)> done);

  void Post(ServiceLoop::Work work) { loop_->Post(std::move(work)); }

  // On the loop.
  const planner::DirectoryState& state() const { return state_; }
  // What the shard counts and measures.
  Metrics MetricsNow() const;
  // What it decided lately. Any thread.
  std::vector<Recorded> Decisions() const { return recorder_.Read(); }
  // unavailable, if another member holds the shard; none: this one does.
  std::optional<Error> StandsBy() const;
  // Of the shard, where there are several.
  protocol::ShardMembers members() const;
  // unavailable, while it stands by, or still collects what its nodes hold. Takes a turn: perhaps
  // nothing else has happened since.
  std::optional<Error> Collects();
  // After each turn: those of the watched objects that something happened to.
  void OnTouched(std::function<void(const ObjectId&)> touched) { touched_ = std::move(touched); }
  void Watch(const ObjectId& object) { state_.Watch(object); }
  void Unwatch(const ObjectId& object) { state_.Unwatch(object); }
  void Expire(NodeId node);         // a node without a session: its grace is over now
  void Shutdown(const Error& why);  // ends every session with these words and takes no more

 private:
  struct Heard {
    SessionPtr session;
    std::variant<wire::NodeMessage, Error, std::monostate> what;  // monostate: closed
    std::size_t applied = 0;                                      // events of it
  };

  void Push(Heard heard);
  Result<protocol::ObjectView> Look(const ObjectId& object);
  void Turn();
  void Collect();
  // Signs of life and acknowledgements, which make room, wait behind no other session's words.
  void HearAtOnce(const SessionPtr& session, wire::NodeMessage& message);
  // So many events at most: a large message must not hold up the heartbeats of others.
  void TakeSome(std::size_t events);
  // Both give false if `events` are used up and there is more of it.
  bool Take(Heard& heard, std::size_t& events);
  bool Handle(Heard& heard, wire::NodeMessage& message, std::size_t& events);
  void Greet(const SessionPtr& session, const wire::Hello& hello);
  void TellId(const protocol::NodeInfo& claimant);
  void Refuse(const SessionPtr& session, wire::Ended why);
  void Forget(const SessionPtr& session);
  void Suspend(const SessionPtr& session, SessionEnd how);
  void Lose(NodeId node);
  void CheckLeases();
  void PlanAndDeliver();
  void Record(const planner::Action& action);
  void Record(Decided what, std::string_view text, const ObjectId& object = ObjectId());
  void TellTouched();
  void Flush(const SessionPtr& session);
  void EndStalled();
  void Acknowledge();
  protocol::SessionQueuesView Queues() const;
  void Abort(const SessionPtr& session, SessionEnd how);
  void Apply(planner::EventBody body);
  void ArmTimer();

  const std::unique_ptr<ServiceLoop> loop_;
  const ServiceOptions options_;
  Admission admission_;
  Members members_;
  LeaseMonitor leases_;
  planner::DirectoryState state_;
  ShardTally tally_;
  Recorder recorder_;
  SessionSet asked_;          // they are to acknowledge what they were told
  Time next_stall_ = kNever;  // when the first of them counts as stalled
  SessionSet owing_;          // the shard owes them an acknowledgement
  SessionSet spoke_;          // in this turn
  Time now_;                  // of the current turn
  Time next_plan_ = kNever;
  Time armed_ = kNever;  // when the loop's alarm is
  bool stopped_ = false;
  std::function<void(const ObjectId&)> touched_;  // null: nobody watches

  std::deque<Heard> waiting_;  // what earlier turns left

  Mutex mutex_;
  std::vector<Heard> inbox_ HOPLITE_GUARDED_BY(mutex_);  // a turn is posted while it is not empty
};

}  // namespace hoplite::directory
