// Read-only pictures of the state.
#include <algorithm>
#include <map>
#include <ranges>
#include <utility>
#include <vector>

#include "planner/shard/directory_internal.h"
#include "planner/shard/waits_in_words.h"
#include "protocol/failure.h"
#include "protocol/object_name.h"

namespace hoplite::planner {
namespace {

// In the stripes that a slot makes: the node of a root reads the others.
std::uint64_t MadeBytes(const Layout& layout, StripeMarks marks, StripeMask made) {
  for (std::uint32_t stripe = 0; stripe < layout.stripe_count; ++stripe) {
    if ((made >> stripe & 1) == 0) marks[stripe] = 0;
  }
  return layout.valid_bytes(marks);
}

std::vector<SlotView> SlotsOf(const NodeTable& nodes, const ReductionRecord& reduction) {
  std::vector<SlotView> views;
  for (const auto& [slot, known] : reduction.tree.slots()) {
    SlotView shown{.slot = slot,
                   .parents = known.order.parents,
                   .stripes = known.order.stripes,
                   .node = known.order.node};
    if (shown.node != kNoNode) shown.node_name = nodes.NameOf(shown.node);
    shown.version = known.version;
    for (const SlotInput& input : known.order.inputs) shown.inputs.push_back(input.object);
    if (reduction.layout.valid(known.marks)) {
      shown.valid_bytes = MadeBytes(reduction.layout, known.marks, known.order.stripes);
    }
    views.push_back(std::move(shown));
  }
  return views;
}

// `behind`: a loss has still to come to this object.
bool IsHolder(const NodeTable& nodes, NodeId node, const Copy& copy, bool behind) {
  return copy.listed && !(behind && nodes.Find(node) == nullptr);
}

bool IsComplete(const Books& books, const ObjectId& id, const ObjectRecord& record) {
  const bool behind = books.sweeps.Has(id);
  return record.inline_bytes != nullptr ||
         std::ranges::any_of(record.table.copies(), [&](const auto& entry) {
           return entry.second.complete && IsHolder(books.nodes, entry.first, entry.second, behind);
         });
}

// What nodes told of their waits, of one object or of all.
class Told {
 public:
  explicit Told(const NodeTable& nodes, const ObjectId* only = nullptr) {
    for (const auto& [node, record] : nodes.nodes()) {
      for (const Wait& wait : record.waits) {
        if (only == nullptr || wait.object == *only) {
          by_object_[wait.object].push_back({node, record.info.name, wait.why});
          if (!wait.name.empty()) names_[wait.object] = wait.name;
        }
      }
    }
  }
  std::string NameOf(const ObjectId& object) const {
    const auto known = names_.find(object);
    return known == names_.end() ? "" : known->second;
  }
  const std::map<ObjectId, std::vector<WaiterView>>& all() const { return by_object_; }
  const std::vector<WaiterView>& Of(const ObjectId& object) const {
    static const std::vector<WaiterView> kNone;
    const auto told = by_object_.find(object);
    return told == by_object_.end() ? kNone : told->second;
  }

 private:
  std::map<ObjectId, std::vector<WaiterView>> by_object_;
  std::map<ObjectId, std::string> names_;
};

// The first of them are named.
std::vector<std::string> Crowded(const NodeTable& nodes) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  for (const auto& [node, record] : nodes.nodes()) {
    const bool waits = std::ranges::any_of(
        record.waits, [](const Wait& wait) { return wait.why.contains(protocol::kNoMemory); });
    if (waits && names.size() < kMost) names.push_back(record.info.name);
  }
  std::ranges::sort(names);
  return names;
}

std::optional<RegisterView> ViewOfRegister(const Books& books, const ObjectId& name) {
  const RegisterRecord* record = books.registers.Find(name);
  if (record == nullptr) return std::nullopt;
  RegisterView view{.version = record->entry.version,
                    .value = record->entry.value,
                    .nodes = static_cast<std::uint32_t>(record->users.size())};
  for (const auto& [node, user] : record->users) {
    if (user.claim && user.claim == record->entry.claim) view.writer = books.nodes.NameOf(node);
  }
  return view;
}

ObjectView View(const Books& books, const ObjectId& id, const ObjectRecord& record,
                const std::vector<WaiterView>& told) {
  const NodeTable& nodes = books.nodes;
  ObjectView view;
  view.object = id;
  view.version = record.version;
  const Layout& layout = record.table.layout();
  view.size_bytes = layout.size_bytes;
  view.metadata = record.metadata.OrEmpty();
  view.inlined = record.inline_bytes != nullptr;
  const Waiting& waiting = record.waiting();
  const std::string absent = record.exists() ? "" : WhyAbsent(nodes, record, told);
  for (const PendingCreate& create : waiting.creates) {
    view.waiters.push_back({create.node, nodes.NameOf(create.node), WhyPutWaits(nodes, record)});
  }
  // A Get waits for what a Put at the same node waits for: the node waits once.
  const auto puts = [&](NodeId node) {
    return std::ranges::any_of(waiting.creates, [&](const auto& put) { return put.node == node; });
  };
  for (const Asking& one : waiting.locates) {
    if (puts(one.node)) continue;
    view.waiters.push_back({one.node, nodes.NameOf(one.node),
                            record.exists() ? "the bytes are on their way" : absent});
  }
  const bool behind = books.sweeps.Has(id);
  for (const auto& [node, copy] : record.table.copies()) {
    if (IsHolder(nodes, node, copy, behind)) {
      const NodeRecord* known = nodes.Find(node);
      view.holders.push_back({node, nodes.NameOf(node), copy.complete, copy.produces != 0,
                              layout.valid_bytes(copy.marks),
                              known == nullptr ? 0 : known->bytes_per_second,
                              known == nullptr ? Duration{0} : known->RateAge(books.clock.now())});
    }
    // Who asks again, with its answer on the way, waits once.
    if (copy.parked() != 0 && !waiting.locates.contains({node}) && !puts(node)) {
      view.waiters.push_back(
          {node, nodes.NameOf(node), record.exists() ? WhyUnserved(books, record, node) : absent});
    }
  }
  for (const auto& [grant, open] : record.table.grants()) {
    const Copy& receiver = *record.table.Find(open.receiver);
    view.transfers.push_back({open.source, open.receiver, nodes.NameOf(open.source),
                              nodes.NameOf(open.receiver), grant,
                              layout.valid_bytes(receiver.marks)});
  }
  if (record.reduction) view.slots = SlotsOf(nodes, *record.reduction);
  view.waiters.insert(view.waiters.end(), told.begin(), told.end());
  view.ever_owned = books.owners.Knows(id);
  view.owners = static_cast<std::uint32_t>(books.owners.OwnersOf(id).size());
  view.grace = books.owners.GraceOf(id, {books.options.orphan_grace, books.options.tombstone});
  return view;
}

}  // namespace

bool DirectoryState::collecting() const { return state_->books().window.collecting(); }

Duration DirectoryState::CollectsFor(Time now) const {
  const Books& books = state_->books();
  return std::max<Duration>(books.window.End(books.nodes) - now, {});
}

bool DirectoryState::knows_members() const {
  const Books& books = state_->books();
  return books.window.KnowsMembers(books.nodes);
}

double DirectoryState::ShownOf(NodeId node) const {
  const NodeRecord* record = state_->books().nodes.Find(node);
  return record == nullptr ? 0 : record->shown;
}

std::vector<NodeView> DirectoryState::Nodes(Time now) const {
  std::vector<NodeView> views;
  for (const auto& [id, node] : state_->books().nodes.nodes()) {
    views.push_back({.node = node.info,
                     .alive = node.alive,
                     .usage = node.usage,
                     .bytes_per_second = node.bytes_per_second,
                     .rate_age = node.RateAge(now),
                     .round_trip = node.round_trip});
  }
  return views;
}

std::vector<ObjectView> DirectoryState::Objects() const {
  std::vector<ObjectView> views;
  const Told told(state_->books().nodes);
  for (const auto& [id, record] : state_->books().objects.records())
    views.push_back(View(state_->books(), id, record, told.Of(id)));
  return views;
}

namespace {

// On its way to somebody, being made, or waited for.
bool IsUnderWay(const ObjectRecord& record, const std::vector<WaiterView>& told) {
  const Waiting& waiting = record.waiting();
  const auto incomplete = [](const auto& entry) {
    return entry.second.listed && !entry.second.complete;
  };
  return !told.empty() || !record.table.grants().empty() || record.open_reduction() ||
         !waiting.creates.empty() || !waiting.locates.empty() || record.table.somebody_parked() ||
         std::ranges::any_of(record.table.copies(), incomplete);
}

ObjectView Unknown(const ObjectId& object, const Told& told) {
  return {
      .object = object, .metadata = WithName(told.NameOf(object), ""), .waiters = told.Of(object)};
}

// What nodes wait for that has no record here: a Put without memory has created nothing yet.
void AddUnknown(const Told& told, const std::map<ObjectId, ObjectRecord>& records,
                std::size_t limit, ObjectPage& page) {
  for (const auto& object : std::views::keys(told.all())) {
    if (page.objects.size() == limit) return;
    if (!records.contains(object)) page.objects.push_back(Unknown(object, told));
  }
}

}  // namespace

ObjectPage DirectoryState::Objects(const PageRequest& request) const {
  const auto& objects = state_->books().objects.records();
  const std::size_t limit = std::clamp(request.limit, 1U, kMaxPageObjects);
  const Told told(state_->books().nodes);
  ObjectPage page;
  if (request.under_way && !request.after) AddUnknown(told, objects, limit - 1, page);
  const std::size_t unknown = page.objects.size();
  std::size_t parts = 0;
  auto next = request.after ? objects.upper_bound(*request.after) : objects.begin();
  std::size_t looks = 0;
  for (; next != objects.end() && page.objects.size() < limit && looks < kMaxPageLooks;
       page.reached = (next++)->first, ++looks) {
    if (request.under_way && !IsUnderWay(next->second, told.Of(next->first))) continue;
    ObjectView view = View(state_->books(), next->first, next->second, told.Of(next->first));
    parts += view.holders.size() + view.transfers.size() + view.waiters.size() + view.slots.size();
    if (parts > kMaxPageParts && page.objects.size() > unknown) break;
    page.objects.push_back(std::move(view));
  }
  page.more = next != objects.end();
  return page;
}

ShardView DirectoryState::Shard() const {
  return {.objects = state_->books().objects.records().size(),
          .inline_bytes = state_->books().inlined.total_bytes(),
          .inline_total_bytes = state_->books().inlined.total_limit_bytes()};
}

std::optional<Error> DirectoryState::WhyAbsent(const ObjectId& object, Time now) const {
  const Books& books = state_->books();
  std::string blocked = books.tombstones.WhyBlocked(object, now);
  if (!blocked.empty()) return Error(ErrorCode::kDeleted, std::move(blocked));
  const ObjectRecord* record = books.objects.Find(object);
  if (record != nullptr && record->coming()) return std::nullopt;
  if (record != nullptr && record->waiting().locates.empty() && !record->waiting().loss.empty()) {
    return Error(ErrorCode::kPeerLost, "object " + object.ToHex() +
                                           " does not exist: " + InWords(record->waiting().loss));
  }
  const ReductionEnd* end = books.ended.Of(object, Version(), now);
  if (end == nullptr) return std::nullopt;
  return end->error;
}

std::optional<ObjectView> DirectoryState::Find(const ObjectId& object) const {
  const ObjectRecord* record = state_->books().objects.Find(object);
  const Told told(state_->books().nodes, &object);
  std::optional<RegisterView> held = ViewOfRegister(state_->books(), object);
  if (record == nullptr && told.Of(object).empty() && !held) return std::nullopt;
  ObjectView view = record == nullptr ? Unknown(object, told)
                                      : View(state_->books(), object, *record, told.Of(object));
  view.as_register = std::move(held);
  view.crowded = Crowded(state_->books().nodes);
  return view;
}

Presence DirectoryState::PresenceOf(const ObjectId& object, Time now) const {
  const Books& books = state_->books();
  const ObjectRecord* record = books.objects.Find(object);
  if (record != nullptr && IsComplete(books, object, *record)) {
    return FailureIn(record->metadata.OrEmpty()) ? Presence::kFailed : Presence::kComplete;
  }
  if (!books.tombstones.WhyBlocked(object, now).empty()) return Presence::kDeleted;
  if (record != nullptr && record->coming()) return Presence::kPartial;
  if (record != nullptr && !record->waiting().loss.empty()) return Presence::kLost;
  const bool failed = books.ended.Of(object, Version(), now) != nullptr;
  return failed ? Presence::kFailed : Presence::kAbsent;
}

std::size_t DirectoryState::GroupsOf(const ObjectId& object) const {
  const ObjectRecord* record = state_->books().objects.Find(object);
  return record == nullptr ? 0 : record->table.group_count();
}

std::optional<DirectoryState::RegisterPicture> DirectoryState::Register(
    const ObjectId& name) const {
  const RegisterRecord* record = state_->books().registers.Find(name);
  if (record == nullptr) return std::nullopt;
  return RegisterPicture{record->entry, HasWriter(*record), record->users.size()};
}

DirectoryState::OwnerView DirectoryState::Owners(const ObjectId& object) const {
  const Books& books = state_->books();
  return {.deleted = books.tombstones.Until(object, books.clock.now()).has_value(),
          .owned = books.owners.Owned(object),
          .ever_owned = books.owners.Knows(object)};
}

}  // namespace hoplite::planner
