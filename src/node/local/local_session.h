// LocalSession: one client of this node, in a worker process or in the node's own.
//
// Decides: when memory that the client could touch is free again. Is told: requests. Answers: each
// once. Must never: give back a range that a living worker may still read (a view) or write (a
// draft): such a pin ends by the client's Release; when the connection has ended, or a child was
// forked, as ProcessPins decides. On the node's loop only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "net/deadline.h"
#include "node/core/operations.h"
#include "node/local/local_channel.h"
#include "node/local/local_clients.h"
#include "node/local/local_peer.h"
#include "node/local/process_pins.h"

namespace hoplite::node {

class LocalSession : public LocalClients::Member,
                     public std::enable_shared_from_this<LocalSession> {
 public:
  // Whether the client is a process of its own (and so to be watched) or this one.
  enum class Kind : std::uint8_t { kWorker, kInProcess };

  // Takes the socket, if it succeeds.
  static Result<std::shared_ptr<LocalSession>> Adopt(Operations& operations,
                                                     std::shared_ptr<LocalClients> clients,
                                                     int socket, Kind kind);
  LocalSession(Operations& operations, std::shared_ptr<LocalClients> clients,
               std::shared_ptr<LocalChannel> channel, std::unique_ptr<LocalPeer> peer);

  // Why there is no session for a client then.
  static Error NoDescriptorLeft();

  // on_end runs once, when the session holds no memory any more.
  void Start(std::function<void()> on_end);
  // Ends everything at once, pins included: the node is going away.
  void Stop();
  // Whether it said Hello. One that does not in time is sent away.
  bool greeted() const { return greeted_; }
  ClientUse use() const override { return {calls_.size(), pins() + process_pins_.count()}; }
  void SendAway(const std::string& why);

 private:
  using Self = std::shared_ptr<LocalSession>;
  using Id = std::uint64_t;

  struct ReaderEntry {
    store::CopyPtr copy;
    CallPtr fetch;         // the fetch goes on while this is not cancelled
    bool awaited = false;  // one Await at a time
  };
  struct DraftEntry {
    std::shared_ptr<Draft> draft;
    store::CopyPtr copy;  // its pin
    bool failed = false;  // and the client knows
  };
  struct SubscriptionEntry {
    std::shared_ptr<void> token;
  };
  struct RegisterEntry {
    std::shared_ptr<node::OpenRegister> opened;
  };
  struct View {
    store::CopyPtr copy;
    std::shared_ptr<JointGets> together;  // knows of it for as long
  };
  using Entry = std::variant<View, ReaderEntry, DraftEntry, SubscriptionEntry, RegisterEntry>;

  // local_session.cpp: life cycle, and what is not answered.
  void OnRequest(local::Request request);
  Result<void> Dispatch(local::Request request);
  Result<void> Hello(const local::Request& request);
  void Advance(const local::Advance& body);
  void Cancel(const local::Cancel& body);
  void Release(Id made_by, std::uint32_t count);
  void Release(Id made_by);
  void Leave(Operations::ClientEnd how);
  Result<void> Forked(const local::Forked& body);
  void OnConnectionEnd(const Error& why);
  void EndIfDone();
  template <typename T>
  T* Find(Id made_by) {
    const auto at = entries_.find(made_by);
    return at == entries_.end() ? nullptr : std::get_if<T>(&at->second);
  }

  // local_session_requests.cpp: what is answered. Handlers fill the answer, or give the error.
  using Handled = net::Task<Result<void>>;
  Result<void> StartRequest(local::Request request);
  net::Task<void> Run(Self self, local::Request request, Result<ObjectId> object, CallPtr call);
  Handled Handle(const local::Request& request, ObjectId object, CallPtr call,
                 local::Answer& answer);
  Handled Put(const local::Put& body, ObjectId object, CallPtr call);
  Handled Create(const local::Request& request, ObjectId object, CallPtr call,
                 local::Answer& answer);
  Handled Seal(const local::Seal& body, CallPtr call);
  Handled Get(const local::Request& request, ObjectId object, CallPtr call, local::Answer& answer);
  std::shared_ptr<JointGets> TogetherOf(Id number);
  Handled GetMany(const local::Request& request, CallPtr call, local::Answer& answer);
  void FillGot(const Result<store::CopyPtr>& result, Id id,
               const std::shared_ptr<JointGets>& together, local::Views::Got& got);
  Result<void> RoomFor(const local::GetMany& body, std::size_t count) const;
  using OnObject = net::Task<Result<void>> (Operations::*)(ObjectId, CallPtr);
  Handled ForEach(const std::string& ids, OnObject operation, CallPtr call);
  Handled Open(const local::Request& request, ObjectId object, CallPtr call, local::Answer& answer);
  Handled Await(const local::Await& body, CallPtr call, local::Answer& answer);
  Handled Info(const local::Info& body, CallPtr call, local::Answer& answer);
  Handled Status(const local::Status& body, CallPtr call, local::Answer& answer);
  Handled Reduce(const local::Reduce& body, ObjectId target, CallPtr call, local::Answer& answer);
  Handled Subscribe(Id id, ObjectId object);
  Handled WaitExists(const local::WaitExists& body, CallPtr call, local::Answer& answer);
  Handled WaitGone(const local::WaitGone& body, CallPtr call, local::Answer& answer);
  Handled Identify(local::Answer& answer);
  Handled Drain(CallPtr call, local::Answer& answer);
  Handled Why(ObjectId object, CallPtr call, local::Answer& answer);
  // local_session_registers.cpp
  Handled OpenRegister(Id id, const local::OpenRegister& body);
  Handled ReadRegister(const local::ReadRegister& body, CallPtr call, local::Answer& answer);
  Handled WriteRegister(const local::WriteRegister& body, CallPtr call, local::Answer& answer);
  Handled AwaitRegister(const local::AwaitRegister& body, CallPtr call, local::Answer& answer);
  Result<std::shared_ptr<node::OpenRegister>> Opened(Id id);
  std::size_t pins() const { return entries_.size() + watched_; }
  Result<void> CheckLimits(const local::Request& request, std::size_t objects) const;
  Result<void> Keep(Id made_by, Entry entry);
  // For a worker that has no writable mapping yet: what it may write through.
  int WritableDescriptor(const local::Request& request);

  Operations& operations_;
  const std::shared_ptr<LocalChannel> channel_;
  const std::unique_ptr<LocalPeer> peer_;  // none: in this process
  const std::shared_ptr<Owner> owner_;
  std::function<void()> on_end_;
  bool greeted_ = false;
  std::optional<net::Deadline> hello_due_;
  bool shares_segment_ = true;
  bool ended_ = false;  // the connection is gone; pins may be left
  std::unordered_map<Id, CallPtr> calls_;
  std::unordered_map<Id, Entry> entries_;  // by the request that made them
  std::size_t watched_ = 0;                // objects, of all WaitExists, WaitGone and GetMany
  std::size_t asked_ = 0;                  // objects, of all other requests under way
  std::unordered_map<Id, std::weak_ptr<JointGets>> joint_gets_;  // by the client's number
  ProcessPins process_pins_;
};

}  // namespace hoplite::node
