#include "testing/fake_operations.h"

#include <algorithm>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>

#include "base/clock.h"
#include "base/try.h"
#include "node/core/counted.h"
#include "store/segment.h"

namespace hoplite::test {
namespace {

Error Deleted() { return {ErrorCode::kDeleted, "the object was deleted"}; }

}  // namespace

class FakeOperations::FakeRegister final : public node::OpenRegister {
 public:
  FakeRegister(FakeOperations& node, const std::string& name)
      : name_(name), entry_(node.registers_[name]), open_(std::in_place, node.open_registers_, 1) {}

  net::Task<Result<Answer>> Get(node::CallPtr) override { co_return Answer{.entry = entry_}; }
  net::Task<Result<Answer>> CompareAndSet(protocol::CompareAndSet write, node::CallPtr) override {
    if (entry_.version != write.expected) co_return Answer{.entry = entry_};
    entry_.version = {{1, entry_.version.sequence + 1}};
    entry_.value = write.value;
    co_return Answer{.entry = entry_, .written = true};
  }
  net::Task<Result<Answer>> Changed(Version after, bool, node::CallPtr call) override {
    if (entry_.version > after) co_return Answer{.entry = entry_};
    waiting_.insert(call);
    while (!call->cancelled && open_ && co_await call->changed.Wait(call->deadline)) {
    }
    waiting_.erase(call);
    co_return std::unexpected(
        Error(ErrorCode::kTimeout, "the register " + name_ + " did not change"));
  }
  void Close() override {
    open_.reset();
    for (const node::CallPtr& call : waiting_) call->changed.Notify();
  }

 private:
  const std::string name_;
  protocol::RegisterContents& entry_;
  std::optional<node::Counted<>> open_;
  std::set<node::CallPtr> waiting_;
};

std::shared_ptr<node::OpenRegister> FakeOperations::OpenRegister(const std::string& name) {
  return std::make_shared<FakeRegister>(*this, name);
}

class FakeOperations::FakeDraft final : public node::Draft {
 public:
  FakeDraft(FakeOperations& node, store::CopyPtr copy) : node_(node), copy_(std::move(copy)) {}
  ~FakeDraft() override { Abort(); }

  const store::CopyPtr& copy() const override { return copy_; }
  Result<void> Advance(std::uint64_t prefix_bytes, std::span<const std::uint64_t>) override {
    if (copy_->state() == store::CopyState::kVoid) return std::unexpected(Deleted());
    const StripeMarks marks = copy_->layout().marks_of_prefix(prefix_bytes);
    for (std::uint32_t s = 0; s < marks.size(); ++s) copy_->Advance(s, marks[s]);
    node_.WakeAll();
    return {};
  }
  net::Task<Result<void>> Seal(node::CallPtr) override {
    if (copy_->state() == store::CopyState::kVoid) co_return std::unexpected(Deleted());
    if (!copy_->Seal()) {
      co_return std::unexpected(Error(ErrorCode::kInvalidArgument, "not complete, or sealed"));
    }
    node_.Locate({.object = copy_->object(),
                  .node_name = node_.name_,
                  .kind = protocol::LocationKind::kComplete});
    node_.WakeAll();
    co_return Result<void>();
  }
  void Abort() override {
    if (copy_->state() == store::CopyState::kOpen) {
      node_.Drop(copy_->object(), store::VoidReason::kAborted);
    }
  }

 private:
  FakeOperations& node_;
  const store::CopyPtr copy_;
};

FakeOperations::FakeOperations(asio::io_context& loop, std::uint64_t memory_bytes)
    : FakeOperations(loop, store::CreateMemfdSegment(memory_bytes).value()) {}

FakeOperations::FakeOperations(asio::io_context& loop,
                               std::unique_ptr<store::SharedSegment> segment)
    : loop_(loop), store_(std::make_unique<store::ObjectStore>(std::move(segment), [] {})) {}

FakeOperations::~FakeOperations() = default;

net::Task<Result<std::shared_ptr<node::Draft>>> FakeOperations::Create(ObjectId object,
                                                                       std::uint64_t size_bytes,
                                                                       std::string metadata,
                                                                       node::CallPtr call) {
  if (deleted_.contains(object)) co_return std::unexpected(Deleted());
  if (call->only_if_owned && !owners_.contains(object)) {
    co_return std::unexpected(Error(ErrorCode::kNotFound, "nobody owns the object"));
  }
  if (call->owned) CO_TRY(MayOwn(object, *call));
  const Layout layout = Layout::For(size_bytes);
  CO_TRY(layout.Validate());
  CO_TRY_ASSIGN(store::CopyPtr copy,
                store_->Create(object, layout, std::move(metadata), store::CopyKind::kPrimary));
  if (call->owned) owners_[object].insert(call->client->number);
  WakeAll();
  co_return std::make_shared<FakeDraft>(*this, std::move(copy));
}

net::Task<Result<store::CopyPtr>> FakeOperations::Await(ObjectId object, bool final,
                                                        node::CallPtr call) {
  waiting_.insert(call);
  Result<store::CopyPtr> found = std::unexpected(co_await GaveUp(object, call, Now()));
  bool in_time = true;
  while (in_time) {
    const store::CopyPtr copy = store_->Find(object);
    if (copy && (!final || copy->state() == store::CopyState::kFinal)) {
      found = copy;
      break;
    }
    if (deleted_.contains(object) || call->cancelled) {
      found = std::unexpected(
          deleted_.contains(object) ? Deleted() : Error(ErrorCode::kCancelled, "cancelled"));
      break;
    }
    in_time = co_await call->changed.Wait(call->deadline);
  }
  waiting_.erase(call);
  co_return found;
}

net::Task<Result<store::CopyPtr>> FakeOperations::Get(ObjectId object, node::CallPtr call) {
  return Await(object, true, std::move(call));
}

net::Task<Result<store::CopyPtr>> FakeOperations::Open(ObjectId object, node::CallPtr call) {
  return Await(object, false, std::move(call));
}

net::Task<Error> FakeOperations::GaveUp(ObjectId object, node::CallPtr call, Time /*since*/) {
  if (call->cancelled) co_return Error(ErrorCode::kCancelled, "cancelled");
  co_return Error(ErrorCode::kTimeout, "object " + object.ToHex() + ' ' + WhyUnfinished(object));
}

std::string FakeOperations::WhyUnfinished(const ObjectId&) { return "is not complete"; }

net::Task<node::Explanation> FakeOperations::Why(ObjectId object, node::CallPtr) {
  co_return node::Explanation{.unfinished = WhyUnfinished(object), .text = "nothing is known"};
}

std::vector<store::CopyPtr> FakeOperations::Available(const ReduceOptions& options) const {
  std::vector<store::CopyPtr> available;
  for (const ObjectId& source : options.sources) {
    const store::CopyPtr copy = store_->Find(source);
    const bool there = copy && copy->state() == store::CopyState::kFinal;
    if (there && available.size() < options.num_objects) available.push_back(copy);
  }
  return available;
}

net::Task<Result<ReduceOutcome>> FakeOperations::Reduce(ReduceOptions options, node::CallPtr call) {
  reduction_ = options;
  options.num_objects = options.num_objects.value_or(options.sources.size());
  waiting_.insert(call);
  std::vector<store::CopyPtr> used = Available(options);
  bool in_time = true;
  while (used.size() < options.num_objects && !call->cancelled && in_time) {
    in_time = co_await call->changed.Wait(call->deadline);
    used = Available(options);
  }
  waiting_.erase(call);
  if (call->cancelled) co_return std::unexpected(Error(ErrorCode::kCancelled, "cancelled"));
  if (used.empty() || used.size() < options.num_objects) {
    co_return std::unexpected(Error(ErrorCode::kTimeout, "sources are missing"));
  }
  CO_TRY_ASSIGN(
      const std::shared_ptr<node::Draft> target,
      co_await Create(options.target, used.front()->layout().size_bytes, options.metadata, call));
  std::ranges::copy(used.front()->bytes(), target->copy()->bytes().begin());
  CO_TRY(target->Advance(target->copy()->bytes().size(), {}));
  CO_TRY(co_await target->Seal(call));
  ReduceOutcome outcome;
  outcome.target = options.target;
  for (const ObjectId& source : options.sources) {
    const bool taken = std::ranges::find(used, source, &store::Copy::object) != used.end();
    (taken ? outcome.used : outcome.unused).push_back(source);
  }
  co_return outcome;
}

net::Task<Result<void>> FakeOperations::Delete(ObjectId object, node::CallPtr) {
  deleted_.insert(object);
  Drop(object, store::VoidReason::kDeleted);
  co_return Result<void>();
}

Result<void> FakeOperations::MayOwn(const ObjectId& object, const node::Call& call) const {
  if (call.client->gone) {
    return std::unexpected(Error(ErrorCode::kCancelled, "the client is closed"));
  }
  if (owners_.size() < kMaxOwned || owners_.contains(object)) return {};
  return std::unexpected(Error(ErrorCode::kResourceExhausted, "too many ids are owned"));
}

net::Task<Result<void>> FakeOperations::Own(ObjectId object, node::CallPtr call) {
  if (deleted_.contains(object)) co_return std::unexpected(Deleted());
  CO_TRY(MayOwn(object, *call));
  owners_[object].insert(call->client->number);
  co_return Result<void>();
}

net::Task<Result<void>> FakeOperations::Disown(ObjectId object, node::CallPtr call) {
  Disown(object, *call->client);
  co_return Result<void>();
}

void FakeOperations::Disown(const ObjectId& object, const node::Owner& client) {
  const auto owners = owners_.find(object);
  if (owners == owners_.end() || owners->second.erase(client.number) == 0) return;
  if (!owners->second.empty()) return;
  owners_.erase(owners);
  deleted_.insert(object);
  Drop(object, store::VoidReason::kDeleted);
}

void FakeOperations::OnClientEnd(const node::Owner& client, ClientEnd how) {
  client_end_ = how;
  std::vector<ObjectId> known;
  for (const auto& [object, owners] : owners_) known.push_back(object);
  for (const ObjectId& object : known) Disown(object, client);
}

net::Task<Result<protocol::ObjectView>> FakeOperations::Info(ObjectId object, node::CallPtr) {
  const store::CopyPtr copy = store_->Find(object);
  if (!copy) co_return std::unexpected(Error(ErrorCode::kNotFound, "no such object"));
  protocol::ObjectView view;
  view.object = object;
  view.version = Version{{.incarnation = 7, .sequence = 3}};
  view.size_bytes = copy->layout().size_bytes;
  view.metadata = copy->metadata();
  view.holders.push_back({.node_name = name_,
                          .complete = copy->state() == store::CopyState::kFinal,
                          .valid_bytes = copy->layout().valid_bytes(copy->marks())});
  view.transfers.push_back({.from_name = name_, .to_name = "other", .valid_bytes = 1});
  view.waiters.push_back({.node_name = "third", .why = "every holder is busy"});
  view.slots.push_back({.slot = 2,
                        .parents = {1, 3},
                        .stripes = 0b1010,
                        .node_name = "fourth",
                        .inputs = {object},
                        .valid_bytes = 4});
  co_return view;
}

net::Task<Result<protocol::StatusPage>> FakeOperations::Status(std::size_t shard,
                                                               protocol::PageRequest request,
                                                               node::CallPtr call) {
  constexpr std::uint32_t kPage = 2;
  if (shard + 1 < shards_) {
    co_return std::unexpected(Error(ErrorCode::kUnavailable, "a shard is away"));
  }
  protocol::NodeView self;
  self.node.id = NodeId{1};
  self.node.name = name_;
  self.node.address = "127.0.0.1:1";
  self.alive = true;
  self.bytes_per_second = 12'500'000;
  std::vector<ObjectId> objects;
  for (const store::CopyPtr& copy : store_->List()) objects.push_back(copy->object());
  std::ranges::sort(objects);
  protocol::StatusPage status{.nodes = {self}, .shard = {.objects = objects.size()}};
  for (const ObjectId& object : objects) {
    if (request.after && object <= *request.after) continue;
    status.page.more = status.page.objects.size() == std::min(request.limit, kPage);
    if (status.page.more) break;
    CO_TRY_ASSIGN(protocol::ObjectView view, co_await Info(object, call));
    status.page.objects.push_back(std::move(view));
  }
  co_return status;
}

void FakeOperations::Spawn(const char* /*what*/, net::Task<void> task) {
  asio::co_spawn(loop_, std::move(task), asio::detached);
}

std::shared_ptr<void> FakeOperations::Subscribe(
    ObjectId object, std::function<void(const protocol::Location&)> on_location) {
  const auto at = subscribers_->emplace(object, std::move(on_location));
  return {nullptr, [all = subscribers_, at](std::nullptr_t) { all->erase(at); }};
}

// Of no place is known but what was told; of its own copies the store knows.
std::shared_ptr<void> FakeOperations::Watch(ObjectId object, node::Subscriber watcher,
                                            bool /*only_if_owned*/) {
  return Subscribe(object, std::move(watcher.on_location));
}

void FakeOperations::Recall(const ObjectId& object) { Drop(object, store::VoidReason::kRecalled); }

void FakeOperations::Locate(const protocol::Location& location) {
  const auto [begin, end] = subscribers_->equal_range(location.object);
  for (auto at = begin; at != end; ++at) at->second(location);
}

void FakeOperations::WakeAll() {
  for (const node::CallPtr& call : waiting_) call->changed.Notify();
}

void FakeOperations::Drop(const ObjectId& object, store::VoidReason why) {
  if (const store::CopyPtr copy = store_->Find(object)) {
    copy->Void(why);
    store_->Remove(object);
    Locate({.object = object, .node_name = name_, .kind = protocol::LocationKind::kGone});
  }
  WakeAll();
}

}  // namespace hoplite::test
