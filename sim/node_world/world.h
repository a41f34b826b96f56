// World: one history of whole nodes, from an empty cluster to an empty cluster.
//
//   calls and faults at random moments -> faults end, calls go on -> everybody is served -> all is
//   deleted -> nothing is left -> nodes leave
//
// Decides nothing about the protocol: the nodes and shards are the real ones. Owns the time, runs
// the loops by turns in an order drawn from the seed, and looks after each step whether a property
// is broken. The first one ends the history.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <fmt/format.h>

#include "base/digest.h"
#include "sim/kit/message_digest.h"
#include "sim/node_world/calls.h"
#include "sim/node_world/member.h"
#include "sim/node_world/model.h"
#include "sim/node_world/options.h"
#include "sim/node_world/owning.h"
#include "sim/seams/sim_directory.h"
#include "sim/seams/sim_network.h"
#include "sim/seams/sim_transport.h"

namespace hoplite::node_world {

struct Report {
  std::string violation;  // empty: every property held
  double seconds = 0;     // virtual time until the violation or the end
  std::uint64_t steps = 0;
  std::uint64_t digest = 0;  // of all words with their times: equal for equal histories
  std::uint64_t calls = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t sums = 0;        // of them: reductions
  std::uint64_t rings = 0;       // of these: by rings
  std::uint64_t forests = 0;     // objects that became one
  std::uint64_t windows = 0;     // and reads through a window
  std::uint64_t resumed = 0;     // fetches that went on where another source had stopped
  std::uint64_t most_turns = 0;  // of one node within a second
  std::uint64_t owned = 0;       // objects that a client owned
  std::uint64_t spilled = 0;     // objects that were written to a disk
  std::uint64_t waits = 0;       // looks at which a call waited for memory at some node
};

class World {
 public:
  // `tell`: each call, answer and fault, one line each, if it is set.
  explicit World(const Options& options, std::function<void(const std::string&)> tell = nullptr);
  ~World();
  Report Run();

 private:
  struct Host {
    net::HostId id = 0;
    std::unique_ptr<Member> member;  // the present process; null while there is none
    // Since when its turns are counted, and how many there were before.
    Time counted_since{};
    std::uint64_t turns_before = 0;
    Time hoards_since = kNever;
    Time idle_since = kNever;  // its disk, while somebody waits for memory
    Time held_up_since = kNever;
  };
  using Moment = void (World::*)();

  // The script.
  void PlanCalls();
  void PlanFaults();
  void PlanStalls();
  void Plan(std::uint32_t times, Moment what);
  void PlanFault(std::uint32_t times, Moment what);
  void OnPayload();
  void EndFaults();
  void MakeCall();
  void PutSource(Member* member, std::uint32_t i);  // unless that is null
  void PutOneOfTheCrowd(std::uint32_t i);
  void FailSomething();
  void MakeSum();
  void Rush();
  void BeginSum(Member& member, Time deadline);
  void DeleteSomething();
  void CancelSomething();
  void ReadThroughWindow();
  void OwnSomething();
  void EndAnOwner();
  void DrainOne();
  void LeaveDrained(std::size_t host);
  void Disturb(Time until);
  void BreakAStream();
  void BreakASession();
  void PartTwo();
  void PartOneWay();
  void Clog();
  void FreezeOne();
  void SlowOne();
  void CrashOne();
  void CrashAndReturn();
  void RestartShard();
  void BringNewcomers(std::size_t shard, Time back);
  void BringNewcomer();

  // The phases.
  void Settle();
  void EndOwners();
  Duration Tombstone() const;
  Duration CrowdTime() const;
  void ServeEverybody();
  void DeleteEverything();
  void LeaveInOrder();

  // The engine.
  void RunUntil(Time end);
  // False: `so` was not true before the end.
  bool RunUntil(Time end, const std::function<bool()>& so);
  void RunReady();
  void Join(std::size_t host, bool foreign = false);
  void CountWork(Member& member);
  void Crash(std::size_t host);
  void DestroyLeft();
  void AfterStep();
  void Broken(const std::string& what);
  bool broken() const { return !report_.violation.empty(); }
  template <typename... Args>
  void Tell(fmt::format_string<Args...> format, Args&&... args) const {
    if (tell_) TellLine(fmt::format(format, std::forward<Args>(args)...));
  }
  void TellLine(const std::string& line) const;
  void CutPair();
  void NoteRings(const std::vector<protocol::NodeEvent>& words);
  void NoteForests(std::size_t shard);
  void AddToDigest(const auto& words) {
    for (const auto& word : words) sim::AddTo(digest_.Add((time_.Now() - start_).count()), word);
  }

  // The looks.
  void CheckDirectory();
  void CheckDeadlines();
  void CheckTurns();
  void CheckMemory();
  void CheckPlaces();
  void CheckCounters();
  void CheckAnswer(const CallRecord& record);
  void CheckCommitted(const CallRecord& record);
  void CheckOneEnd(const CallRecord& record);
  void CheckNotDeleted(const CallRecord& record);
  void CheckHandedOn(const CallRecord& record);
  bool MayBeGone(const ObjectId& object) const;
  void CheckClosed(const wire::NodeMessage& message);
  void CheckEnded(Time opened);
  void CheckRefused(NodeId node, const Error& why);
  void CheckKept();
  void CheckOwned();
  std::string OwnedByNobody() const;
  bool Calm() const;
  std::string Overdue() const;
  std::string Unsettled() const;
  std::string TakenBack() const;
  std::string Left() const;
  bool Exists(const ObjectId& object) const;
  bool Available(const ObjectId& object) const;
  bool Fits(Member& member, const ObjectId& object) const;
  bool FitsSum(const CallRecord& record) const;
  bool FitsWindow(Member& member, const ObjectId& object) const;

  Member* RandomMember();
  Member* RandomMemberWithRoom();
  Duration RandomFaultTime();
  ObjectId Object(std::uint32_t i) const;
  ObjectId Source(std::uint32_t i) const;
  ObjectId OneOfTheCrowd(std::uint32_t i) const;
  std::vector<ObjectId> AllObjects() const;
  std::size_t ShardOf(const ObjectId& object) const;

  const Options options_;
  const std::function<void(const std::string&)> tell_;
  sim::Random random_;
  Report report_;
  Digest digest_;

  VirtualTime time_;
  const Time start_;
  const net::InternetPtr internet_;
  net::SimNetwork& network_;
  std::vector<std::shared_ptr<store::SharedSegment>> segments_;  // read until the end
  asio::io_context directory_loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_{directory_loop_.get_executor()};
  std::unique_ptr<directory::SimDirectory> directory_;
  Model model_;
  Calls calls_;
  Owning owning_;
  std::vector<Host> hosts_;
  std::vector<std::unique_ptr<Member>> leaving_;
  std::uint64_t processes_ = 0;
  std::optional<Time> last_end_;   // of a process, before all leave
  std::vector<ObjectId> targets_;  // of all reductions
  bool reader_stopped_ = false;
  bool leaves_ = false;      // all nodes leave
  Time disturbed_until_{};   // until then the last fault may have effects
  std::uint64_t turns_ = 0;  // of the directory
  // By shard: its life, and how often its state had changed, at the last look at its invariants.
  std::map<std::size_t, std::pair<std::uint64_t, std::uint64_t>> checked_;
  std::uint64_t sum_bytes_ = 0;
  std::set<ObjectId> told_failed_;  // targets of whose failure a reader was told
  std::set<ObjectId> ringed_;       // targets that a plan with several roots was to make
  std::set<ObjectId> forests_;      // objects whose stripes were cut, because all asked for them
  std::set<std::pair<ObjectId, GrantId>> closed_grants_;
  std::map<ObjectId, int> refusals_;  // of receivers, by sources that were not ahead
  std::deque<Moment> waiting_faults_;
  std::vector<std::size_t> returning_;  // hosts whose processes start again
};

}  // namespace hoplite::node_world
