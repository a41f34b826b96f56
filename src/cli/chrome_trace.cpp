#include "cli/chrome_trace.h"

#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/shown_text.h"
#include "cli/id_names.h"

namespace hoplite::cli {
namespace {

// The events of one member.
class MemberEvents {
 public:
  MemberEvents(int process, const std::string& name, const IdNames& names, Json& events)
      : process_(process), names_(names), events_(events) {
    Describe("process_name", 0, name);
    Describe("thread_name", 0, "sessions");
  }

  void Add(const wire::TraceEntry& entry) {
    const int thread = ThreadOf(entry.object);
    Json event = Event(std::string(Name(entry.what)), "i", thread, entry.since_epoch_us);
    event["s"] = "t";
    if (!entry.text.empty()) event["name"] = fmt::format("{} {}", Name(entry.what), entry.text);
    event["args"] = {{"decision", Name(entry.what)}, {"text", entry.text}};
    if (thread != 0) event["args"]["object"] = entry.object.ToHex();
    events_.push_back(std::move(event));
    AddBar(entry, thread);
  }

 private:
  // What was asked before the oldest decision that is kept has no bar.
  void AddBar(const wire::TraceEntry& entry, int thread) {
    const bool reduction = entry.what == Decided::kReduced;
    if (entry.what == Decided::kAsked || entry.what == Decided::kReduces) {
      begun_[{thread, entry.what}] = entry.since_epoch_us;
    }
    if (entry.what != Decided::kComplete && !reduction) return;
    const auto begun = begun_.find({thread, reduction ? Decided::kReduces : Decided::kAsked});
    if (begun == begun_.end()) return;
    Json bar = Event(reduction ? "reduction" : "fetch", "X", thread, begun->second);
    bar["dur"] = entry.since_epoch_us - begun->second;
    events_.push_back(std::move(bar));
    begun_.erase(begun);
  }

  int ThreadOf(const ObjectId& object) {
    if (object == ObjectId()) return 0;
    const auto [known, first] = threads_.try_emplace(object, static_cast<int>(threads_.size()) + 1);
    if (first) Describe("thread_name", known->second, names_.Of(object));
    return known->second;
  }

  Json Event(const std::string& name, std::string_view phase, int thread,
             std::uint64_t when) const {
    return {{"name", name}, {"ph", phase}, {"pid", process_}, {"tid", thread}, {"ts", when}};
  }
  void Describe(const std::string& what, int thread, const std::string& name) {
    Json event = Event(what, "M", thread, 0);
    event["args"] = {{"name", name}};
    events_.push_back(std::move(event));
  }

  const int process_;
  const IdNames& names_;
  Json& events_;
  std::map<ObjectId, int> threads_;
  std::map<std::pair<int, Decided>, std::uint64_t> begun_;
};

// Who put an object says its name, for all.
IdNames NamesIn(const std::vector<MemberTrace>& members) {
  IdNames names;
  for (const MemberTrace& member : members) {
    if (!member.decisions) continue;
    for (const wire::TraceEntry& entry : *member.decisions) {
      if (entry.what == Decided::kNamed) names.Add(entry.object, ShownName(entry.text));
    }
  }
  return names;
}

}  // namespace

Json ToChromeTrace(const std::vector<MemberTrace>& members, const std::optional<ObjectId>& only) {
  Json events = Json::array();
  const IdNames names = NamesIn(members);
  int process = 0;
  for (const MemberTrace& member : members) {
    ++process;
    if (!member.decisions) continue;
    MemberEvents of_member(process, member.name, names, events);
    for (const wire::TraceEntry& entry : *member.decisions) {
      const bool wanted = !only || entry.object == *only || entry.object == ObjectId();
      if (wanted) of_member.Add(entry);
    }
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace hoplite::cli
