// Calls: what clients of the nodes do, and what becomes of it. Each call is the real operation on
// the real node, with a deadline, and is answered exactly once; bytes that it gives are held
// against the model, when they come and again before they are let go.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <hoplite/reduce.h>

#include "base/virtual_time.h"
#include "node/core/operations.h"
#include "sim/node_world/member.h"
#include "sim/node_world/model.h"

namespace hoplite::node_world {

struct CallRecord;
using CallRecordPtr = std::shared_ptr<CallRecord>;
using CallList = std::list<CallRecordPtr>;

enum class CallKind { kPut, kFail, kGet, kGetInto, kOpen, kReduce, kDelete, kDrain };

struct CallRecord {
  CallKind kind = CallKind::kGet;
  Member* member = nullptr;  // null when it is gone
  ObjectId object;
  std::uint64_t size_bytes = 0;
  ReduceOptions sum;
  Time begun{};
  Time answered_at{};
  node::CallPtr call;  // null when it was answered
  std::optional<Error> error;
  std::uint64_t fingerprint = 0;  // of the bytes that a Get gave
  bool windowed = false;          // it came through a window
  std::vector<ObjectId> held;     // of a Drain: whole at its node when it began
  std::uint64_t left_count = 0;   // and not handed on at its end
  bool abandoned = false;         // its process died: nobody hears the answer
  CallList::iterator place;       // among the open ones, while it is

  bool answered() const { return call == nullptr; }
  bool succeeded() const { return answered() && !error && !abandoned; }
};
std::string ToString(const CallRecord& record);

// How a call goes on, beside what it asks for.
struct CallStyle {
  Duration fill_time{0};  // of a Put, in steps
  bool aborts = false;    // a Put, before its end
  Duration hold{0};       // the result
  // Of a GetInto: how long it waits between two looks, and after how many looks it takes nothing
  // any more out of a window that is still being filled.
  Duration pace{0};
  bool stops = false;
  int stops_after = 0;
};

class Calls {
 public:
  struct Hooks {
    std::function<void(const std::string&)> broken;
    std::function<void(const CallRecord&)> answered;
    bool forgets_pins = false;  // a planted fault: what a Get returned does not keep its memory
  };
  Calls(VirtualTime& time, Model& model, Hooks hooks)
      : time_(time), model_(model), hooks_(std::move(hooks)) {}

  CallRecordPtr Put(Member& member, const ObjectId& object, std::uint64_t size_bytes, Time deadline,
                    CallStyle style);
  // Puts an error in place of the object (R69).
  CallRecordPtr Fail(Member& member, const ObjectId& object, Time deadline);
  CallRecordPtr Get(Member& member, const ObjectId& object, Time deadline, CallStyle style);
  // Gets the object into memory of the caller's own, if need be through a window.
  CallRecordPtr GetInto(Member& member, const ObjectId& object, Time deadline, CallStyle style);
  CallRecordPtr Open(Member& member, const ObjectId& object, Time deadline);
  CallRecordPtr Reduce(Member& member, ReduceOptions options, Time deadline);
  CallRecordPtr Delete(Member& member, const ObjectId& object, Time deadline);
  // The member hands its only copies on (R70).
  CallRecordPtr Drain(Member& member, Time deadline);
  // The member's process died: its calls are void.
  void Abandon(Member& member);

  const std::vector<CallRecordPtr>& all() const { return records_; }
  // The calls of living processes that are not answered yet.
  const CallList& open() const { return open_; }
  // One of these that is not answered within `slack` after its deadline, or after its process goes
  // on; null: there is none. Cheap while no deadline passes.
  const CallRecord* Late(Duration slack);

 private:
  CallRecordPtr Begin(CallKind kind, Member& member, const ObjectId& object, Time deadline);
  void Answer(const CallRecordPtr& record, std::optional<Error> error);
  void CheckFailure(const CallRecord& record);
  void Check(const CallRecord& record, std::span<const std::byte> bytes, std::uint64_t size_bytes);
  net::Task<void> RunPut(CallRecordPtr record, CallStyle style);
  net::Task<std::optional<Error>> Fill(CallRecordPtr record, std::shared_ptr<node::Draft> draft,
                                       CallStyle style);
  net::Task<void> RunFail(CallRecordPtr record);
  net::Task<void> RunGet(CallRecordPtr record, CallStyle style);
  net::Task<void> RunGetInto(CallRecordPtr record, CallStyle style);
  net::Task<std::optional<Error>> CopyInto(CallRecordPtr record, store::CopyPtr copy,
                                           CallStyle style);
  net::Task<void> RunOpen(CallRecordPtr record);
  net::Task<void> RunReduce(CallRecordPtr record);
  net::Task<void> RunDelete(CallRecordPtr record);
  net::Task<void> RunDrain(CallRecordPtr record);

  VirtualTime& time_;
  Model& model_;
  const Hooks hooks_;
  std::vector<CallRecordPtr> records_;
  CallList open_;
  Time first_deadline_ = kNever;  // no open call has an earlier one
};

}  // namespace hoplite::node_world
