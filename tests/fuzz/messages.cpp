#include <span>
#include <string>
#include <utility>

#include <google/protobuf/stubs/logging.h>

#include "fuzz/targets.h"
#include "planner/shard/directory_state.h"
#include "wire/directory_messages.h"
#include "wire/trace.h"

namespace hoplite::fuzz {
namespace {

// A message that was read can be written, and is then read as the same.
template <typename T>
void RequireSame(const T& value) {
  auto message = wire::ToProto(value);
  const std::string bytes = message.SerializeAsString();
  const auto back = wire::FromProto(message);
  RequireNothing(back ? std::string() : "what is written can't be read: " + back.error().message);
  Require(wire::ToProto(*back).SerializeAsString() == bytes, "and is the same");
}

template <typename Message>
auto Read(const std::string& bytes) {
  Message message;
  using Value = decltype(wire::FromProto(message));
  if (!message.ParseFromString(bytes)) {
    return Value(std::unexpected(Error(ErrorCode::kProtocol, "no message")));
  }
  return wire::FromProto(message);
}

// Questions, and a shard's answers to them.
void ReadQuestions(const std::string& bytes) {
  if (const auto page = Read<v1::StatusRequest>(bytes)) RequireSame(*page);
  if (const auto why = Read<v1::Failure>(bytes)) RequireSame(*why);
  if (const auto page = Read<v1::StatusReply>(bytes)) {
    for (const auto& view : page->page.objects) RequireSame(view);
    for (const auto& view : page->nodes) RequireSame(view);
  }
  v1::TraceReply trace;
  if (!trace.ParseFromString(bytes)) return;
  (void)wire::DecodeTrace(std::as_bytes(std::span(trace.decisions())));
}

// Tells a shard these events; its answers must be fit for the wire.
void Tell(const std::vector<protocol::NodeEvent>& events) {
  constexpr NodeId kNode{1};
  planner::DirectoryState state({.recovery_window = Duration(0)}, Time{});
  state.Apply({Time{}, planner::NodeJoined{{kNode, "n1", "x:1"}, 0}});
  for (const protocol::NodeEvent& event : events) {
    state.Apply({Time{}, planner::NodeSaid{kNode, event}});
    std::vector<planner::Action> actions;
    state.Plan(Time{}, actions);
    RequireNothing(state.BrokenInvariant());
    for (const planner::Action& action : actions) RequireSame(action.body);
  }
  for (const auto& view : state.Objects()) RequireSame(view);
  for (const auto& view : state.Nodes(Time{})) RequireSame(view);
}

}  // namespace

void Messages(Input input) {
  [[maybe_unused]] static const auto quiet = google::protobuf::SetLogHandler(nullptr);
  if (input.empty()) return;
  const std::string bytes(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  switch (input[0] % 6) {
    case 0:
      if (const auto read = Read<v1::ShardMessage>(bytes)) {
        if (read->welcome) RequireSame(*read->welcome);
        if (read->ended) RequireSame(*read->ended);
        for (const auto& action : read->actions) RequireSame(action);
      }
      return;
    case 1:
      if (const auto read = Read<v1::ObjectView>(bytes)) RequireSame(*read);
      return;
    case 2:
      if (const auto read = Read<v1::NodeView>(bytes)) RequireSame(*read);
      return;
    case 4:
      return ReadQuestions(bytes);
    default:
      if (const auto read = Read<v1::NodeMessage>(bytes)) {
        if (read->hello) RequireSame(*read->hello);
        for (const auto& event : read->events) RequireSame(event);
        Tell(read->events);
      }
  }
}

}  // namespace hoplite::fuzz
