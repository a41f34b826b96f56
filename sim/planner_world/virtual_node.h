// VirtualNode: what one node knows of one object and how it behaves, as docs/protocol.md says. Its
// fetch is decided by planner::FlightState, as a real node's is.
//
// Decides: what to tell the directory of its own copy, whether to serve a fetch. Is told: what the
// directory says, how far its copy is, how streams end. Must never: move bytes, know other nodes or
// the time (the worlds around it do). A value type: exhaustive search copies it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/layout.h"
#include "base/time.h"
#include "planner/node/flight_state.h"
#include "protocol/hand_on.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"

namespace hoplite::sim {

// Which bytes a copy holds: each attempt to put the object has bytes of its own. 0: none.
using Content = std::uint64_t;
constexpr Content kFirstContent = 1000;
// Each attempt to make the target of a reduction is content of its own.
constexpr Content ContentOf(const Version& version) {
  return version.incarnation << 40 | version.sequence;
}

struct Fetch {
  NodeId source = kNoNode;
  Version version;
  GrantId grant;
  StripeMask stripes = 0;
  StripeMarks marks;  // of the receiver: where to start
  bool equality_ok = false;
  bool ordered = false;
};

// What a node wants of its world.
struct Effects {
  std::vector<protocol::NodeEvent> say;  // to the directory, in this order
  std::vector<Fetch> open;               // streams from a source
  std::vector<protocol::HandedOn> give;  // to other nodes
  std::vector<GrantId> end;              // own streams that it takes nothing from any more
  bool reserve = false;                  // memory for a copy; answered by MemoryReserved
  bool fill = false;                     // its Put was accepted: answered by Produced
  bool copy_gone = false;                // streams to others end, which blames nobody
};

class VirtualNode {
 public:
  VirtualNode(NodeId id, const ObjectId& object) : id_(id), object_(object) {}

  // Memory that it holds whenever it asks for the object from now on; its world has it (R63).
  void SetRoom(std::uint64_t bytes) { room_ = bytes; }

  // --- the user's calls
  void Get(Effects& out);
  // Its Gets go through a window (R38): it keeps nothing, and the world around it says when there is
  // room for a block.
  void ReadThroughWindow() { leaf_ = true; }
  bool leaf() const { return leaf_; }
  // What its last Get returned; another one may begin.
  void ForgetGet() {
    got_ = 0;
    got_version_ = {};
  }
  void Put(const Layout& layout, Content content, bool inlined, Effects& out);
  void Delete(Effects& out);
  void Cancel(Effects& out);  // its Get: it leaves the holders, even if it feeds somebody
  void Evict(Effects& out);   // asks whether its relayed copy may go
  // It fetches other objects, too.
  void Join(Effects& out);
  void Subscribe(Effects& out);  // to the object's places, from now on
  // It was told to take a copy for others (R68), and nothing came of it for long.
  void StopHelping(Effects& out);

  // --- as a root of a reduction: its copy is the target, of which it makes these stripes. It reads
  // the others like anybody.
  void MakeTarget(const Version& version, const Layout& layout, Content content, StripeMask makes,
                  Effects& out);
  void TargetCommitted(Effects& out);
  void DropTarget(const Version& version, Effects& out);

  // --- the session
  void Hear(const protocol::NodeAction& action, Time now, Effects& out);
  // Another node hands an object on (R83).
  void HearGive(const protocol::InlineObject& given, Effects& out);
  void Disconnected();
  // Before it is connected again, if the shard had declared it lost: its streams end, what the
  // shard had granted is void, and it keeps its bytes.
  void WasLost(Effects& out);
  // In this life of the directory; says the inventory.
  void Connected(std::uint64_t life, Time now, Effects& out);

  // --- memory and bytes
  void MemoryReserved(Effects& out);
  // What it holds while it asks is needed elsewhere.
  void LoseRoom(Effects& out);
  // The stripe's watermark is now `blocks`. Answers with the property that this breaks, or nothing.
  std::string_view Received(std::uint32_t stripe, std::uint32_t blocks, Content content);
  void Produced(Effects& out);  // the copy that it puts is whole
  // How streams end: a stripe is whole, or they failed, or the source dropped its copy.
  void StripeWhole(GrantId grant, std::uint32_t stripe, Effects& out);
  void StreamFailed(GrantId grant, protocol::Failure why, Effects& out);
  // All bytes are there: perhaps an END was seen before.
  void BytesWhole(Effects& out);
  // As a source: kNone if it serves this fetch.
  protocol::Failure Answer(const Fetch& fetch) const;
  protocol::Progress ProgressReport(std::uint64_t bytes_per_second) const;

  // --- what the properties look at
  struct Copy {
    Version version;
    Layout layout;
    StripeMarks marks;
    std::vector<Content> content;  // per stripe
    bool complete = false;
    StripeMask produces = 0;
    bool own = false;      // made by its Put, or as the root of a reduction
    bool folded = false;   // the latter
    bool primary = false;  // must not be dropped, as the directory has answered
  };
  struct Stream {
    NodeId source = kNoNode;
    StripeMask missing = 0;
  };
  NodeId id() const { return id_; }
  bool connected() const { return life_.has_value(); }
  const std::optional<Copy>& copy() const { return copy_; }
  const std::map<GrantId, Stream>& streams() const { return streams_; }
  // For its Get, for others, or to complete what it makes a part of.
  bool waiting() const { return getting_ || helping_ || completing_; }
  bool helping() const { return helping_; }
  bool putting() const { return put_.has_value(); }
  bool put_refused() const { return put_refused_; }
  std::uint64_t asked() const { return asked_; }  // the number of its last question
  Content got() const { return got_; }            // what its Get returned
  Version got_version() const { return got_version_; }
  bool subscribed() const { return subscribed_; }
  // The nodes that have all of the object, as far as this one was told.
  const std::set<NodeId>& places() const { return places_; }
  bool told_deleted() const { return told_deleted_; }
  bool told_aborted() const { return told_aborted_; }
  std::uint64_t highest_incarnation() const { return highest_incarnation_; }
  // Empty, or a rule that the directory broke towards this node, in words.
  const std::string& complaint() const { return complaint_; }
  void AddTo(Digest& digest) const;

 private:
  void HearOne(const protocol::CreateAccepted& accepted, Effects& out);
  void HearOne(const protocol::Located& located, Effects& out);
  void HearOne(const protocol::CreateRefused& refused);
  void HearOne(const protocol::InlineObject& object, Effects& out);
  void TakeInline(const protocol::InlineObject& object);
  void HearOne(const protocol::Grant& grant, Effects& out);
  void HearOne(const protocol::Recall& recall, Effects& out);
  void HearOne(const protocol::Deleted& deleted, Time now, Effects& out);
  void HearOne(const protocol::TargetAborted& aborted, Effects& out);
  void HearOne(const protocol::EvictAnswer& answer, Effects& out);
  void HearOne(const protocol::Location& location);
  void HearOne(const protocol::TakeCopy& word, Time now, Effects& out);
  void HearOne(const protocol::GiveCopy& word, Effects& out);

  void Say(protocol::NodeEvent event, Effects& out);
  void SayCreate(Effects& out);
  void AskUnlessKnown(Effects& out);
  void Ask(Effects& out);
  void ReadTheRest(Effects& out);
  void Return(Content content, const Version& version);
  // What the flight decided; a stream that it stops has ended at once.
  void Carry(const planner::FlightState::Effects& decided, Effects& out);
  // These two: true if the copy is whole.
  bool StepFlight(Effects& out);
  bool EndStream(GrantId grant, protocol::Outcome outcome, protocol::Failure why, Effects& out);
  // Puts the bytes that the shard gave where no stream brings any (R15).
  void TakeGiven();
  void LeaveFlight(Effects& out);
  void Pull(const protocol::Grant& grant, Effects& out);
  StripeMarks Marks() const { return copy_ ? copy_->marks : StripeMarks{}; }
  StripeMask Missing(StripeMask among) const;
  void DropCopy(Effects& out);
  void Complete(Effects& out);

  NodeId id_;
  ObjectId object_;
  std::optional<std::uint64_t> life_ = 0;  // of the directory that it has a session with
  bool joint_ = false;
  std::uint64_t room_ = 0;
  std::uint64_t asked_ = 0;  // numbers its questions
  bool getting_ = false;     // a Get is open
  bool helping_ = false;     // it gets a copy for others
  bool completing_ = false;  // it makes a part of the target, and reads the rest
  bool deleting_ = false;
  bool put_refused_ = false;
  bool copy_inlined_ = false;  // the directory has the bytes of its own copy
  bool told_deleted_ = false;
  bool told_aborted_ = false;
  bool subscribed_ = false;
  bool leaf_ = false;
  std::set<NodeId> places_;
  std::optional<planner::FlightState> flight_;
  std::optional<Content> given_;  // to the flight, for its copy
  struct PendingPut {
    Layout layout;
    Content content = 0;
    bool inlined = false;
  };
  std::optional<PendingPut> put_;  // a Create without an answer
  std::optional<Copy> copy_;
  std::map<GrantId, Stream> streams_;
  Content got_ = 0;
  Version got_version_;
  Version wanted_;  // newest version that it said Want for
  std::optional<Time> tombstone_;
  Version deletion_;  // of the tombstone
  std::uint64_t highest_incarnation_ = 0;
  std::string complaint_;
};

}  // namespace hoplite::sim
