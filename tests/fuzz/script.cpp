#include "fuzz/script.h"

#include <memory>
#include <string>

#include <fuzzer/FuzzedDataProvider.h>

#include "base/checksum.h"
#include "base/recorder.h"
#include "wire/check_up.h"
#include "wire/give.h"
#include "wire/trace.h"

namespace hoplite::fuzz {
namespace {

// Draws a value, most often the right one.
template <typename T>
T Mostly(FuzzedDataProvider& data, T right) {
  return data.ConsumeIntegralInRange<int>(0, 7) != 7 ? right : data.ConsumeIntegral<T>();
}

wire::Frame HelloOf(FuzzedDataProvider& data) {
  wire::PeerHello hello(Mostly(data, kCluster), kPeer, NodeId{Mostly(data, Raw(kSelf))});
  hello.protocol_version = Mostly(data, wire::kProtocolVersion);
  return hello;
}

wire::Frame WelcomeOf(FuzzedDataProvider& data) {
  wire::PeerWelcome welcome(Mostly(data, kCluster), NodeId{Mostly(data, Raw(kPeer))});
  welcome.protocol_version = Mostly(data, wire::kProtocolVersion);
  welcome.refusal = static_cast<wire::Refusal>(Mostly<std::uint8_t>(data, 0) % 5);
  welcome.text = data.ConsumeRandomLengthString(20);
  return welcome;
}

std::uint64_t CreditOf(FuzzedDataProvider& data) {
  return data.ConsumeBool() ? data.ConsumeIntegralInRange<std::uint64_t>(0, 40'000)
                            : data.ConsumeIntegral<std::uint64_t>();
}

wire::Frame FetchOf(FuzzedDataProvider& data) {
  wire::Fetch fetch;
  fetch.object = Object(data.ConsumeIntegralInRange<std::size_t>(0, kObjects));
  fetch.version = Version{{1, Mostly<std::uint64_t>(data, 1)}};
  fetch.slot = Mostly<std::uint32_t>(data, 0);
  fetch.next = StripeMarks(data.ConsumeIntegralInRange<std::size_t>(1, 3));
  if (Mostly<std::uint8_t>(data, 0) == 1) fetch.next = StripeMarks(kMaxStripes);
  for (std::uint32_t& next : fetch.next) next = Mostly(data, data.ConsumeIntegral<std::uint8_t>());
  const StripeMask known = (StripeMask{1} << (fetch.next.size() % kMaxStripes)) - 1;
  fetch.stripes = Mostly<StripeMask>(data, known);
  fetch.credit_bytes = CreditOf(data);
  const auto flags = data.ConsumeIntegralInRange<std::uint8_t>(0, 3);
  fetch.equality_ok = (flags & 1) != 0;
  fetch.ordered = (flags & 2) != 0;
  return fetch;
}

wire::Frame EndOf(FuzzedDataProvider& data) {
  const auto reason = static_cast<wire::EndReason>(data.ConsumeIntegralInRange<int>(1, 8));
  const bool final = reason == wire::EndReason::kFinal;
  return wire::End{reason, final ? Mostly(data, data.ConsumeIntegralInRange<StripeMask>(1, 3)) : 0};
}

protocol::InlineObject GivenOf(FuzzedDataProvider& data) {
  protocol::InlineObject given{
      .object = Object(data.ConsumeIntegralInRange<std::size_t>(0, kObjects)), .version = kVersion};
  given.bytes = std::make_shared<const std::string>(data.ConsumeRandomLengthString(40));
  for (int i = data.ConsumeIntegralInRange<int>(0, 2); i > 0; --i) {
    given.onward.push_back({{kPeer, "peer", "somewhere:1"}, data.ConsumeIntegral<std::uint8_t>()});
  }
  return given;
}

void AppendGive(FuzzedDataProvider& data, std::vector<std::byte>& script) {
  const std::string given = wire::EncodeGive(GivenOf(data));
  const auto bytes = std::as_bytes(std::span(given));
  wire::Append(script, wire::Give{Mostly(data, static_cast<std::uint32_t>(bytes.size())),
                                  Mostly(data, BlockChecksum(bytes))});
  script.insert(script.end(), bytes.begin(), bytes.end());
}

void AppendTrace(FuzzedDataProvider& data, std::vector<std::byte>& script) {
  std::vector<Recorded> decisions(data.ConsumeIntegralInRange<std::size_t>(0, 3));
  for (Recorded& one : decisions) {
    one.what = static_cast<Decided>(Mostly<std::uint8_t>(data, 1));
    one.object = Object(data.ConsumeIntegralInRange<std::size_t>(0, kObjects));
    one.text = data.ConsumeRandomLengthString(Recorder::kTextBytes);
  }
  const std::vector<std::byte> bytes = wire::EncodeTrace(decisions, Time{}, 1);
  wire::Append(script, wire::Trace{Mostly(data, static_cast<std::uint32_t>(bytes.size()))});
  script.insert(script.end(), bytes.begin(), bytes.end());
}

void AppendCheckUp(FuzzedDataProvider& data, std::vector<std::byte>& script) {
  const std::string told = wire::EncodeCheckUp({.version = "1", .unreached = "no route"});
  const auto bytes = std::as_bytes(std::span(told));
  wire::Append(script, wire::Check{Mostly(data, static_cast<std::uint32_t>(bytes.size()))});
  script.insert(script.end(), bytes.begin(), bytes.end());
}

void AppendSomething(FuzzedDataProvider& data, const DataMaker& make_data,
                     std::vector<std::byte>& script) {
  switch (data.ConsumeIntegralInRange<int>(0, 9)) {
    case 0:
      return wire::Append(script, HelloOf(data));
    case 1:
      return wire::Append(script, WelcomeOf(data));
    case 2:
    case 3:
      return wire::Append(script, FetchOf(data));
    case 4:
      return wire::Append(script, wire::Credit{CreditOf(data)});
    case 5:
      return wire::Append(script, wire::KeepAlive{data.ConsumeIntegral<std::uint32_t>()});
    case 6:
      return wire::Append(script, EndOf(data));
    case 7:
      return wire::Append(script, wire::Done{});
    case 8: {
      const auto bytes = data.ConsumeBytes<std::uint8_t>(data.ConsumeIntegral<std::uint8_t>());
      const auto raw = std::as_bytes(std::span(bytes));
      script.insert(script.end(), raw.begin(), raw.end());
      return;
    }
    default:
      if (make_data) return make_data(data, script);
      return AppendRare(data, script);
  }
}

}  // namespace

void AppendRare(FuzzedDataProvider& data, std::vector<std::byte>& script) {
  switch (data.ConsumeIntegralInRange<int>(0, 4)) {
    case 0:
      return AppendGive(data, script);
    case 1:
      return AppendTrace(data, script);
    case 2:
      return AppendCheckUp(data, script);
    case 3:
      return wire::Append(script, wire::CheckAsk{});
    default:
      return wire::Append(script, wire::TraceAsk{});
  }
}

ObjectId Object(std::size_t i) {
  return ObjectId::FromName(std::string(1, static_cast<char>('a' + i)));
}

std::vector<std::byte> ScriptOf(FuzzedDataProvider& data, const DataMaker& make_data) {
  constexpr std::size_t kLongest = 1 << 18;
  std::vector<std::byte> script;
  while (data.remaining_bytes() > 0 && script.size() < kLongest) {
    const std::size_t start = script.size();
    AppendSomething(data, make_data, script);
    // Now and then one byte of the frame is changed.
    if (script.size() > start && data.ConsumeIntegralInRange<int>(0, 31) == 31) {
      script[data.ConsumeIntegralInRange<std::size_t>(start, script.size() - 1)] =
          static_cast<std::byte>(data.ConsumeIntegral<std::uint8_t>());
    }
  }
  return script;
}

}  // namespace hoplite::fuzz
