#include "wire/frame.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/check.h"
#include "wire/byte_codec.h"

namespace hoplite::wire {
namespace {

// Flags of Fetch.
constexpr std::uint8_t kEqualityOk = 1;
constexpr std::uint8_t kOrdered = 2;
constexpr std::size_t kFetchFixedBytes = 72;
constexpr std::size_t kDataFixedBytes = 16;
constexpr std::size_t kWelcomeFixedBytes = 24;
constexpr std::string_view kMagic = "HPLT";

std::unexpected<Error> Broken(std::string what) {
  return std::unexpected(Error(ErrorCode::kProtocol, std::move(what)));
}

// How long a kind's body may be, and which flags it knows.
struct Shape {
  std::size_t least;
  std::size_t most;
  std::uint8_t flags = 0;
};

std::optional<Shape> ShapeOf(FrameKind kind) {
  switch (kind) {
    case FrameKind::kHello:
      return Shape{6, 256};  // other protocol versions may say more
    case FrameKind::kWelcome:
      return Shape{kWelcomeFixedBytes, kWelcomeFixedBytes + kMaxRefusalText};
    case FrameKind::kFetch:
      return Shape{kFetchFixedBytes + sizeof(std::uint32_t),
                   kFetchFixedBytes + kMaxStripes * sizeof(std::uint32_t), kEqualityOk | kOrdered};
    case FrameKind::kData:
      return Shape{kDataFixedBytes + sizeof(std::uint64_t),
                   kDataFixedBytes + kMaxPayloadBlocks * sizeof(std::uint64_t)};
    case FrameKind::kCredit:
      return Shape{8, 8};
    case FrameKind::kKeepAlive:
      return Shape{4, 4};
    case FrameKind::kEnd:
      return Shape{9, 9};
    case FrameKind::kDone:
      return Shape{0, 0};
    case FrameKind::kGive:
      return Shape{12, 12};
    case FrameKind::kTraceAsk:
      return Shape{0, 0};
    case FrameKind::kTrace:
    case FrameKind::kCheck:
      return Shape{4, 4};
    case FrameKind::kCheckAsk:
      return Shape{sizeof(std::uint64_t), sizeof(std::uint64_t) + kMaxAskedAddress};
  }
  return std::nullopt;
}

template <typename Stamp>
Stamp GetStamp(Reader& in) {
  Stamp stamp;
  stamp.incarnation = in.Get<std::uint64_t>();
  stamp.sequence = in.Get<std::uint64_t>();
  return stamp;
}

std::string GetText(Reader& in) {
  const auto bytes = in.GetRest();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A checksum travels mixed with its block's place, so that a place that is damaged on its way is
// noticed like a damaged byte.
std::uint64_t PlaceOf(const Data& f, std::uint32_t i) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  return (std::uint64_t{f.stripe} << 32 | (f.first_block + i)) * kOdd;
}

std::uint8_t FlagsOf(const Frame& frame) {
  const auto* fetch = std::get_if<Fetch>(&frame);
  if (fetch == nullptr) return 0;
  return static_cast<std::uint8_t>((fetch->equality_ok ? kEqualityOk : 0) |
                                   (fetch->ordered ? kOrdered : 0));
}

// --- bodies, written

void Put(Writer& out, const PeerHello& f) {
  out.PutText(kMagic).Put(f.protocol_version).Put(f.cluster).Put(Raw(f.from)).Put(Raw(f.expected));
}
void Put(Writer& out, const PeerWelcome& f) {
  out.PutText(kMagic).Put(f.protocol_version).Put(static_cast<std::uint8_t>(f.refusal));
  out.Put(std::uint8_t{0}).Put(f.cluster).Put(Raw(f.from));
  out.PutText(std::string_view(f.text).substr(0, kMaxRefusalText));
}
void Put(Writer& out, const Fetch& f) {
  HOPLITE_CHECK(!f.next.empty() && f.next.size() <= kMaxStripes, "a fetch of 1 to 64 stripes");
  out.PutText(f.object.view());
  out.Put(f.version.incarnation).Put(f.version.sequence);
  out.Put(f.grant.incarnation).Put(f.grant.sequence);
  out.Put(f.slot).Put(f.stripes).Put(f.credit_bytes);
  for (const std::uint32_t next : f.next) out.Put(next);
}
void Put(Writer& out, const Data& f) {
  HOPLITE_CHECK(f.block_count >= 1 && f.block_count <= kMaxPayloadBlocks, "blocks of one frame");
  out.Put(f.stripe).Put(f.first_block).Put(f.block_count).Put(f.payload_bytes);
  for (std::uint32_t i = 0; i < f.block_count; ++i) out.Put(f.checksums[i] ^ PlaceOf(f, i));
}
void Put(Writer& out, const Credit& f) { out.Put(f.limit_bytes); }
void Put(Writer& out, const KeepAlive& f) { out.Put(f.starved_ms); }
void Put(Writer& out, const End& f) { out.Put(static_cast<std::uint8_t>(f.reason)).Put(f.stripes); }
void Put(Writer&, const Done&) {}
void Put(Writer& out, const Give& f) { out.Put(f.payload_bytes).Put(f.checksum); }
void Put(Writer&, const TraceAsk&) {}
void Put(Writer& out, const Trace& f) { out.Put(f.payload_bytes); }
void Put(Writer& out, const CheckAsk& f) {
  HOPLITE_CHECK(f.address.size() <= kMaxAskedAddress, "an address");
  out.Put(Raw(f.peer)).PutText(f.address);
}
void Put(Writer& out, const Check& f) { out.Put(f.payload_bytes); }

// --- bodies, read: of a size within the kind's shape

Result<std::uint16_t> GetPreamble(Reader& in) {
  Reader magic(in.GetBytes(kMagic.size()));
  if (GetText(magic) != kMagic) return Broken("wrong magic: the other side is no node of ours");
  return in.Get<std::uint16_t>();
}

Result<Frame> GetHello(Reader& in) {
  const auto version = GetPreamble(in);
  if (!version) return std::unexpected(version.error());
  PeerHello f;
  f.protocol_version = *version;
  if (f.protocol_version != kProtocolVersion) {
    in.GetRest();
    return f;
  }
  f.cluster = in.Get<std::uint64_t>();
  f.from = NodeId{in.Get<std::uint64_t>()};
  f.expected = NodeId{in.Get<std::uint64_t>()};
  return f;
}

Result<Frame> GetWelcome(Reader& in) {
  const auto version = GetPreamble(in);
  if (!version) return std::unexpected(version.error());
  PeerWelcome f;
  f.protocol_version = *version;
  const auto refusal = in.Get<std::uint8_t>();
  if (refusal > static_cast<std::uint8_t>(Refusal::kStopping)) {
    return Broken(fmt::format("unknown refusal {}", refusal));
  }
  f.refusal = static_cast<Refusal>(refusal);
  in.Get<std::uint8_t>();
  f.cluster = in.Get<std::uint64_t>();
  f.from = NodeId{in.Get<std::uint64_t>()};
  f.text = GetText(in);
  return f;
}

Result<Frame> GetFetch(Reader& in, const Header& header) {
  Fetch f;
  const auto object = in.GetBytes(ObjectId::kBytes);
  std::array<std::uint8_t, ObjectId::kBytes> id;
  std::memcpy(id.data(), object.data(), id.size());
  f.object = ObjectId(id);
  f.version = GetStamp<Version>(in);
  f.grant = GetStamp<GrantId>(in);
  f.slot = in.Get<std::uint32_t>();
  f.stripes = in.Get<StripeMask>();
  f.credit_bytes = in.Get<std::uint64_t>();
  f.next = StripeMarks((header.body_bytes - kFetchFixedBytes) / sizeof(std::uint32_t));
  for (std::uint32_t& next : f.next) next = in.Get<std::uint32_t>();
  f.equality_ok = (header.flags & kEqualityOk) != 0;
  f.ordered = (header.flags & kOrdered) != 0;
  if (f.stripes == 0 || static_cast<std::size_t>(std::bit_width(f.stripes)) > f.next.size()) {
    return Broken(
        fmt::format("fetch with stripe mask {:x} of {} stripes", f.stripes, f.next.size()));
  }
  return f;
}

Result<Frame> GetData(Reader& in) {
  Data f;
  f.stripe = in.Get<std::uint32_t>();
  f.first_block = in.Get<std::uint32_t>();
  f.block_count = in.Get<std::uint32_t>();
  f.payload_bytes = in.Get<std::uint32_t>();
  if (f.stripe >= kMaxStripes || f.block_count == 0 || f.block_count > kMaxPayloadBlocks ||
      f.first_block + f.block_count < f.first_block || f.payload_bytes < f.block_count ||
      f.payload_bytes > kMaxPayloadBytes) {
    return Broken(fmt::format("data of {} bytes in {} blocks from block {} of stripe {}",
                              f.payload_bytes, f.block_count, f.first_block, f.stripe));
  }
  for (std::uint32_t i = 0; i < f.block_count; ++i) {
    f.checksums[i] = in.Get<std::uint64_t>() ^ PlaceOf(f, i);
  }
  return f;
}

Result<Frame> GetEnd(Reader& in) {
  const auto reason = in.Get<std::uint8_t>();
  if (reason < static_cast<std::uint8_t>(EndReason::kFinal) ||
      reason > static_cast<std::uint8_t>(EndReason::kInternal)) {
    return Broken(fmt::format("unknown reason {} of an end", reason));
  }
  const End f(static_cast<EndReason>(reason), in.Get<StripeMask>());
  if ((f.reason == EndReason::kFinal) != (f.stripes != 0)) {
    return Broken(
        fmt::format("an end that is {} with stripe mask {:x}", Name(f.reason), f.stripes));
  }
  return f;
}

Result<Frame> GetGive(Reader& in) {
  Give f;
  f.payload_bytes = in.Get<std::uint32_t>();
  f.checksum = in.Get<std::uint64_t>();
  if (f.payload_bytes == 0 || f.payload_bytes > kMaxGiveBytes) {
    return Broken(fmt::format("a give of {} bytes", f.payload_bytes));
  }
  return f;
}

Result<Frame> GetTrace(Reader& in) {
  const Trace f{in.Get<std::uint32_t>()};
  if (f.payload_bytes > kMaxTraceBytes) {
    return Broken(fmt::format("a trace of {} bytes", f.payload_bytes));
  }
  return f;
}

Result<Frame> GetCheck(Reader& in) {
  const Check f{in.Get<std::uint32_t>()};
  if (f.payload_bytes > kMaxCheckBytes) {
    return Broken(fmt::format("a check-up of {} bytes", f.payload_bytes));
  }
  return f;
}

CheckAsk GetCheckAsk(Reader& in) {
  CheckAsk f;
  f.peer = NodeId{in.Get<std::uint64_t>()};
  f.address = GetText(in);
  return f;
}

Result<Frame> GetFrame(Reader& in, const Header& header) {
  switch (header.kind) {
    case FrameKind::kHello:
      return GetHello(in);
    case FrameKind::kWelcome:
      return GetWelcome(in);
    case FrameKind::kFetch:
      return GetFetch(in, header);
    case FrameKind::kData:
      return GetData(in);
    case FrameKind::kCredit:
      return Credit{in.Get<std::uint64_t>()};
    case FrameKind::kKeepAlive:
      return KeepAlive{in.Get<std::uint32_t>()};
    case FrameKind::kEnd:
      return GetEnd(in);
    case FrameKind::kDone:
      return Done{};
    case FrameKind::kGive:
      return GetGive(in);
    case FrameKind::kTraceAsk:
      return TraceAsk{};
    case FrameKind::kTrace:
      return GetTrace(in);
    case FrameKind::kCheckAsk:
      return GetCheckAsk(in);
    case FrameKind::kCheck:
      return GetCheck(in);
  }
  return Broken("unknown kind of frame");
}

}  // namespace

void Append(std::vector<std::byte>& to, const Frame& frame) {
  const std::size_t start = to.size();
  Writer out(to);
  out.Put(static_cast<std::uint8_t>(KindOf(frame))).Put(FlagsOf(frame));
  out.Put(std::uint16_t{0}).Put(std::uint32_t{0});
  std::visit([&](const auto& body) { Put(out, body); }, frame);
  const auto body_bytes = static_cast<std::uint32_t>(to.size() - start - kHeaderBytes);
  std::memcpy(to.data() + start + 4, &body_bytes, sizeof body_bytes);
}

std::vector<std::byte> Encode(const Frame& frame) {
  std::vector<std::byte> bytes;
  Append(bytes, frame);
  return bytes;
}

Result<Header> DecodeHeader(std::span<const std::byte, kHeaderBytes> bytes) {
  Reader in(bytes);
  const auto kind = static_cast<FrameKind>(in.Get<std::uint8_t>());
  const auto flags = in.Get<std::uint8_t>();
  const auto zero = in.Get<std::uint16_t>();
  const auto body_bytes = in.Get<std::uint32_t>();
  const auto shape = ShapeOf(kind);
  const bool tls =
      (bytes[0] == std::byte{0x15} || bytes[0] == std::byte{0x16}) && bytes[1] == std::byte{0x03};
  if (!shape && tls) {
    return Broken("it speaks TLS, and this member has no certificate and no secret");
  }
  if (!shape) return Broken(fmt::format("unknown kind of frame {}", static_cast<int>(kind)));
  if ((flags & ~shape->flags) != 0 || zero != 0) {
    return Broken(fmt::format("unknown flags in a {} frame", Name(kind)));
  }
  if (body_bytes < shape->least || body_bytes > shape->most) {
    return Broken(fmt::format("a {} frame of {} bytes", Name(kind), body_bytes));
  }
  return Header{kind, flags, body_bytes};
}

Result<Frame> DecodeBody(const Header& header, std::span<const std::byte> body) {
  HOPLITE_CHECK(body.size() == header.body_bytes, "the whole body");
  Reader in(body);
  auto frame = GetFrame(in, header);
  if (frame && (in.failed() || !in.at_end())) {
    return Broken(
        fmt::format("the {} bytes of a {} frame don't fit it", body.size(), Name(header.kind)));
  }
  return frame;
}

FrameKind KindOf(const Frame& frame) { return static_cast<FrameKind>(frame.index() + 1); }

std::string_view Name(FrameKind kind) {
  static constexpr std::array<std::string_view, 14> kNames{
      "",    "hello", "welcome", "fetch",     "data",  "credit",    "keep-alive",
      "end", "done",  "give",    "trace-ask", "trace", "check-ask", "check"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "";
}

std::string_view Name(EndReason reason) {
  static constexpr std::array<std::string_view, 9> kNames{
      "", "final", "not ahead", "unknown", "deleted", "recalled", "moved", "aborted", "internal"};
  const auto index = static_cast<std::size_t>(reason);
  return index < kNames.size() ? kNames[index] : "";
}

}  // namespace hoplite::wire
