// Frames of the data plane: bytes <-> own types. Decides nothing, does no I/O, trusts no number
// that came over a wire. proto/README.md shows the same frames byte by byte, and who says what
// when.
//
//   header   u8 kind | u8 flags | u16 zero | u32 body bytes       all numbers little endian
//   body     fixed per kind; a Data frame is followed by its payload, which is not part of the body
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/ids.h"
#include "base/layout.h"
#include "base/units.h"

namespace hoplite::wire {

inline constexpr std::uint16_t kProtocolVersion = 5;
inline constexpr std::size_t kHeaderBytes = 8;
inline constexpr std::size_t kMaxBodyBytes = 1_KiB;  // each kind has its own, smaller limit
inline constexpr std::size_t kMaxRefusalText = 512;
// One Data frame: at most one run.
inline constexpr std::uint32_t kMaxPayloadBytes = 1_MiB;
inline constexpr std::uint32_t kMaxPayloadBlocks = 64;
// What follows a Give frame: a small object and its list.
inline constexpr std::uint32_t kMaxGiveBytes = 256_KiB;
// What follows a Trace frame.
inline constexpr std::uint32_t kMaxTraceBytes = 64_KiB;
// What follows a Check frame.
inline constexpr std::uint32_t kMaxCheckBytes = 4_KiB;
inline constexpr std::size_t kMaxAskedAddress = 320;  // a host's name, and a port

enum class FrameKind : std::uint8_t {
  kHello = 1,
  kWelcome = 2,
  kFetch = 3,
  kData = 4,
  kCredit = 5,
  kKeepAlive = 6,
  kEnd = 7,
  kDone = 8,
  kGive = 9,
  kTraceAsk = 10,
  kTrace = 11,
  kCheckAsk = 12,
  kCheck = 13,
};

// First words of the connecting side. Of another protocol version only the version is known.
struct PeerHello {
  PeerHello() = default;
  PeerHello(std::uint64_t cluster_in, NodeId from_in, NodeId expected_in)
      : cluster(cluster_in), from(from_in), expected(expected_in) {}

  std::uint16_t protocol_version = kProtocolVersion;
  std::uint64_t cluster = 0;
  NodeId from = kNoNode;
  NodeId expected = kNoNode;  // whom the connecting side believes to reach

  friend bool operator==(const PeerHello&, const PeerHello&) = default;
};

enum class Refusal : std::uint8_t {
  kNone = 0,
  kProtocolVersion = 1,
  kCluster = 2,
  kNotThatNode = 3,
  kStopping = 4,
};

// The answer: who is really here, or why not. After a refusal the answering side closes.
struct PeerWelcome {
  PeerWelcome() = default;
  PeerWelcome(std::uint64_t cluster_in, NodeId from_in) : cluster(cluster_in), from(from_in) {}

  std::uint16_t protocol_version = kProtocolVersion;
  Refusal refusal = Refusal::kNone;
  std::uint64_t cluster = 0;
  NodeId from = kNoNode;
  std::string text;  // of a refusal, for people; longer than kMaxRefusalText is cut

  friend bool operator==(const PeerWelcome&, const PeerWelcome&) = default;
};

// "Send me these stripes of that version, from these blocks on." In a decoded one the mask names at
// least one stripe and none beyond next.size().
struct Fetch {
  ObjectId object;
  Version version;
  GrantId grant;
  std::uint32_t slot = 0;  // 0 = the object itself
  StripeMask stripes = 0;
  std::uint64_t credit_bytes = 0;  // payload that may be sent before the first Credit
  // One per stripe of the layout; those of stripes not asked for are ignored.
  StripeMarks next;
  bool equality_ok = false;  // the source may serve although its mark equals ours
  bool ordered = false;      // in the object's order, also where the source has later blocks

  friend bool operator==(const Fetch&, const Fetch&) = default;
};

// One contiguous piece of a stripe; its payload follows the frame.
struct Data {
  std::uint32_t stripe = 0;
  std::uint32_t first_block = 0;  // index in the stripe
  std::uint32_t block_count = 0;  // 1 .. kMaxPayloadBlocks
  std::uint32_t payload_bytes = 0;
  std::array<std::uint64_t, kMaxPayloadBlocks> checksums{};  // the first block_count are used

  friend bool operator==(const Data&, const Data&) = default;
};

// Payload that may be sent in this fetch, counted from its start: only grows.
struct Credit {
  std::uint64_t limit_bytes = 0;
  friend bool operator==(const Credit&, const Credit&) = default;
};

struct KeepAlive {
  std::uint32_t starved_ms = 0;  // how long the sender itself has waited for bytes; 0 = it hasn't
  friend bool operator==(const KeepAlive&, const KeepAlive&) = default;
};

enum class EndReason : std::uint8_t {
  kFinal = 1,     // you have every byte of these stripes, and they will never change
  kNotAhead = 2,  // the source has no more than you
  kUnknown = 3,   // the source doesn't have that version
  kDeleted = 4,
  kRecalled = 5,
  kMoved = 6,    // the source stops serving, for no fault of yours: ask for another
  kAborted = 7,  // its producer gave up
  kInternal = 8,
};
std::string_view Name(EndReason reason);

// Of stripes of the fetch that are final: the fetch is over when all of its stripes have ended so.
// Or, for another reason, of all that is left: then the mask is empty.
struct End {
  End() = default;
  explicit End(EndReason reason_in, StripeMask stripes_in = 0)
      : reason(reason_in), stripes(stripes_in) {}

  EndReason reason = EndReason::kInternal;
  StripeMask stripes = 0;

  friend bool operator==(const End&, const End&) = default;
};

// The receiver has everything: the source may drop its pin, the connection may carry the next
// Fetch.
struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};

// A small object that goes on from node to node (R83); it follows the frame, as wire/give.h says.
// Nothing answers it: the connection may carry the next Fetch or Give.
struct Give {
  std::uint32_t payload_bytes = 0;
  std::uint64_t checksum = 0;  // of these
  friend bool operator==(const Give&, const Give&) = default;
};

// "What did you decide lately?" Answered with a Trace, by the loop that reads this.
struct TraceAsk {
  friend bool operator==(const TraceAsk&, const TraceAsk&) = default;
};

// The decisions follow the frame, as wire/trace.h says. The connection may carry the next Fetch.
struct Trace {
  std::uint32_t payload_bytes = 0;
  friend bool operator==(const Trace&, const Trace&) = default;
};

// "How is your host, and do you reach that peer?" Answered with a Check.
struct CheckAsk {
  NodeId peer = kNoNode;
  std::string address;  // where; empty: no peer is asked for

  friend bool operator==(const CheckAsk&, const CheckAsk&) = default;
};

// A check-up follows the frame, as wire/check_up.h says. The connection may carry the next Fetch.
struct Check {
  std::uint32_t payload_bytes = 0;
  friend bool operator==(const Check&, const Check&) = default;
};

using Frame = std::variant<PeerHello, PeerWelcome, Fetch, Data, Credit, KeepAlive, End, Done, Give,
                           TraceAsk, Trace, CheckAsk, Check>;

void Append(std::vector<std::byte>& to, const Frame& frame);
std::vector<std::byte> Encode(const Frame& frame);

struct Header {
  FrameKind kind = FrameKind::kDone;
  std::uint8_t flags = 0;
  std::uint32_t body_bytes = 0;  // <= kMaxBodyBytes
};
// `protocol` errors name what was wrong.
Result<Header> DecodeHeader(std::span<const std::byte, kHeaderBytes> bytes);
// body.size() == header.body_bytes.
Result<Frame> DecodeBody(const Header& header, std::span<const std::byte> body);

// "fetch", "data", …: for errors and logs.
std::string_view Name(FrameKind kind);
FrameKind KindOf(const Frame& frame);

}  // namespace hoplite::wire
