#include "testing/ring_by_hand.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checksum.h"
#include "store/segment.h"

namespace hoplite::testing {
namespace {

constexpr Duration kRingBound = std::chrono::minutes(1);  // virtual

const Version kSourceVersion{{1, 7}};

char SourceByte(std::uint64_t at, std::uint32_t node) {
  return static_cast<char>((at * 31 + (at >> 12) * 7 + node * 101) & 0xff);
}

}  // namespace

RingByHand::RingByHand(const Options& options)
    : options_(options),
      internet_(std::make_shared<net::Internet>(network_loop_, options.link, 1)),
      sum_(options.layout.size_bytes, '\0'),
      slots_(std::size_t{2} * options.members) {
  for (std::uint32_t i = 0; i < options_.members; ++i) {
    AddNode();
    for (std::uint64_t at = 0; at < sum_.size(); ++at) {
      sum_[at] = static_cast<char>(sum_[at] + SourceByte(at, i));
    }
    PutSource(i);
  }
}

RingByHand::~RingByHand() {
  for (Member& node : nodes_) {
    node.parts->Stop(Error(ErrorCode::kUnavailable, "the node is stopping"));
  }
  const auto over = [this] {
    return std::ranges::all_of(nodes_,
                               [](const Member& node) { return node.parts->runtime.tasks() == 0; });
  };
  EXPECT_TRUE(Until(over)) << "tasks that nothing ends";
}

void RingByHand::AddNode() {
  const auto number = static_cast<std::uint32_t>(nodes_.size()) + 1;
  Member node;
  NodeConfig config;
  config.directory = {"the test"};
  config.name = "n" + std::to_string(number);
  config.listen = config.name + ":1";
  config.memory_bytes = options_.memory_bytes;
  config.data_threads = options_.data_threads;
  node::Settings settings = node::MakeSettings(config);
  settings.self = NodeId{number};
  node::Environment world;
  world.directory = [&node](asio::io_context&) {
    auto directory = std::make_unique<DirectoryByHand>();
    node.directory = directory.get();
    return directory;
  };
  world.transport = [this](const std::vector<asio::io_context*>& loops) {
    return std::make_unique<net::SimTransport>(internet_, internet_->network.AddHost(), loops);
  };
  world.decisions = std::make_shared<node::Decisions>();
  node.info = {settings.self, config.name, config.listen};
  node.source = ObjectId::FromName("source " + std::to_string(number));
  node.parts = std::make_unique<node::Assembly>(config, std::move(settings), world,
                                                store::CreateHeapSegment(options_.memory_bytes));
  EXPECT_TRUE(node.parts->Listen());
  node.parts->Join();
  node.directory->hooks.on_owner_terms(0, NodeByHand::kTerms);
  nodes_.push_back(std::move(node));
}

void RingByHand::PutSource(std::uint32_t node) {
  const Layout& layout = options_.layout;
  const Member& at = nodes_[node];
  const auto copy = *at.parts->store.Create(at.source, layout, "", store::CopyKind::kPrimary);
  for (std::uint64_t i = 0; i < layout.size_bytes; ++i) {
    copy->bytes()[i] = static_cast<std::byte>(SourceByte(i, node));
  }
  for (std::uint64_t block = 0; block < layout.block_count(); ++block) {
    const ByteRange range = layout.block_range(block);
    copy->SetChecksum(block, BlockChecksum(copy->bytes().subspan(range.begin, range.size())));
  }
  for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
    copy->Advance(s, layout.stripe_block_count(s));
  }
  copy->set_version(kSourceVersion);
  EXPECT_TRUE(copy->Seal());
}

// --- the plan

std::uint32_t RingByHand::Before(std::uint32_t member) const {
  return (member + options_.members - 1) % options_.members;
}

StripeMask RingByHand::EndsAt(std::uint32_t member) const {
  const auto from = [&](std::uint32_t i) {
    return i * options_.layout.stripe_count / options_.members;
  };
  StripeMask stripes = 0;
  for (std::uint32_t s = from(member); s < from(member + 1); ++s) stripes |= StripeMask{1} << s;
  return stripes;
}

StripeMask RingByHand::StripesOf(std::uint32_t slot) const {
  const std::uint32_t node = NodeOf(slot);
  const StripeMask all = options_.layout.all_stripes();
  return slot == RingSlot(node) ? all & ~EndsAt(node) : EndsAt(node);
}

protocol::SlotOrder RingByHand::OrderOf(std::uint32_t node, std::uint32_t slot) const {
  protocol::SlotOrder order;
  order.slot = slot;
  order.stripes = StripesOf(slot);
  order.node = nodes_[node].info.id;
  order.inputs = {{nodes_[node].source, kSourceVersion}};
  order.children = 1;
  if (slot == RingSlot(node)) {
    const std::uint32_t next = (node + 1) % options_.members;
    order.parents = {RingSlot(next), RootSlot(next)};
  }
  return order;
}

void RingByHand::Order(std::uint32_t node, std::uint32_t slot, Version version) {
  slots_[slot - 1] = version;
  nodes_[node].directory->hooks.on_action(protocol::SlotAssigned{
      target_, version, OrderOf(node, slot), options_.layout, {Op::kSum, DType::kUint8}, ""});
}

void RingByHand::Feed(std::uint32_t node, std::uint32_t slot, std::uint32_t child) {
  nodes_[node].directory->hooks.on_action(
      protocol::SlotFeed{target_, slot, slots_[slot - 1], child, slots_[child - 1],
                         StripesOf(slot) & StripesOf(child), nodes_[NodeOf(child)].info});
}

void RingByHand::Plan() {
  for (std::uint32_t slot = 1; version_ && slot <= slots_.size(); ++slot) {
    if (!slots_[slot - 1]) continue;
    nodes_[NodeOf(slot)].directory->hooks.on_action(
        protocol::SlotDropped{target_, slot, slots_[slot - 1]});
  }
  for (std::uint32_t i = 0; i < options_.members; ++i) Order(i, RingSlot(i), NewVersion());
  for (std::uint32_t i = 0; i < options_.members; ++i) Feed(i, RingSlot(i), RingSlot(Before(i)));
  version_ = NewVersion();
  for (std::uint32_t i = 0; i < size(); ++i) {
    nodes_[i].marks = options_.layout.empty_marks();
    nodes_[i].directory->hooks.on_action(protocol::Recall{target_, version_});
  }
  for (std::uint32_t i = 0; i < options_.members; ++i) {
    if (EndsAt(i) == 0) continue;
    Order(i, RootSlot(i), version_);
    Feed(i, RootSlot(i), RingSlot(Before(i)));
  }
}

void RingByHand::Commit() {
  committed_ = version_;
  for (std::uint32_t i = 0; i < options_.members; ++i) {
    if (EndsAt(i) == 0) continue;
    nodes_[i].directory->hooks.on_action(
        protocol::ReduceCommitted{.object = target_, .version = version_, .used = {}});
  }
}

void RingByHand::LoseSession(std::uint32_t node) {
  nodes_[node].directory->hooks.on_lost(0);
  TurnAll();
}

void RingByHand::DropSlots(std::uint32_t member) {
  for (const std::uint32_t slot : {RingSlot(member), RootSlot(member)}) {
    Hear(member, protocol::SlotDropped{target_, slot, slots_[slot - 1]});
  }
}

// --- time

bool RingByHand::Until(const std::function<bool()>& condition) {
  const Time bound = time_.Now() + kRingBound;
  for (TurnAll(); !condition(); TurnAll()) {
    if (time_.next() > bound) return false;
    time_.Step();
  }
  return true;
}

void RingByHand::Pass(Duration time) {
  const Time end = time_.Now() + time;
  time_.At(end, [] {});
  for (TurnAll(); time_.next() <= end; TurnAll()) time_.Step();
}

void RingByHand::TurnAll() {
  std::size_t ran = 1;
  while (ran > 0) {
    ran = network_loop_.poll();
    for (Member& node : nodes_) {
      for (asio::io_context* loop : node.parts->runtime.all_loops()) ran += loop->poll();
    }
    HearAll();
  }
}

// --- the shard

void RingByHand::HearAll() {
  for (std::uint32_t i = 0; i < size(); ++i) {
    Member& node = nodes_[i];
    for (protocol::NodeEvent& event : std::exchange(node.directory->said, {})) {
      if (const auto* want = std::get_if<protocol::Want>(&event)) GrantTo(i, want->version);
      if (const auto* closed = std::get_if<protocol::GrantClosed>(&event)) {
        if (closed->failure == protocol::Failure::kBroken) GrantTo(i, closed->version);
      }
      if (const auto* said = std::get_if<protocol::Progress>(&event)) {
        if (said->version == version_) node.marks = said->marks;
      }
      if (const auto* said = std::get_if<protocol::SlotProgress>(&event)) {
        if (said->version == version_) node.marks = said->marks;
      }
      if (const auto* said = std::get_if<protocol::ReduceCommit>(&event)) {
        node.asked = said->version;
      }
      if (const auto* said = std::get_if<protocol::CopyComplete>(&event)) {
        node.complete = said->version;
      }
      node.said.push_back(std::move(event));
    }
  }
  bool whole = false;
  for (std::uint32_t i = 0; i < options_.members; ++i) whole |= HasAllBytes(i);
  const bool due = options_.commits && version_ && committed_ != version_;
  if (due && all_asked() && whole) Commit();
}

bool RingByHand::all_asked() const {
  for (std::uint32_t i = 0; i < options_.members; ++i) {
    if (EndsAt(i) != 0 && nodes_[i].asked != version_) return false;
  }
  return true;
}

bool RingByHand::HasAllBytes(std::uint32_t node) const {
  return options_.layout.valid(nodes_[node].marks) && options_.layout.complete(nodes_[node].marks);
}

store::CopyPtr RingByHand::TargetAt(std::uint32_t node) const {
  return nodes_[node].parts->store.Find(target_);
}

bool RingByHand::IsWhole(std::uint32_t node) const {
  const store::CopyPtr copy = TargetAt(node);
  const bool says_so = nodes_[node].complete == version_;
  if (!copy || copy->state() != store::CopyState::kFinal || !says_so) return false;
  // Asked after every step of the time: byte by byte takes minutes with a sanitizer.
  const auto bytes = copy->bytes();
  return bytes.size() == sum_.size() && std::memcmp(bytes.data(), sum_.data(), sum_.size()) == 0;
}

void RingByHand::Hear(std::uint32_t node, const protocol::NodeAction& word) {
  nodes_[node].directory->hooks.on_action(word);
  TurnAll();
}

std::vector<protocol::NodeEvent> RingByHand::Inventory(std::uint32_t node) {
  return nodes_[node].directory->hooks.inventory(0, std::nullopt, 1_MiB, {}).events;
}

std::shared_ptr<std::optional<Result<store::CopyPtr>>> RingByHand::Get(std::uint32_t node) {
  const auto answer = std::make_shared<std::optional<Result<store::CopyPtr>>>();
  node::Assembly& parts = *nodes_[node].parts;
  asio::co_spawn(parts.runtime.main(),
                 parts.calls.Get(target_, std::make_shared<node::Call>(parts.runtime.main())),
                 [answer](std::exception_ptr, Result<store::CopyPtr> got) {
                   answer->emplace(std::move(got));
                 });
  TurnAll();
  return answer;
}

// In a ring each member has one source for all that it does not make: the next before it that is a
// root.
void RingByHand::GrantTo(std::uint32_t node, Version version) {
  if (version != version_) return;
  std::uint32_t source = Before(node);
  while (EndsAt(source) == 0) source = Before(source);
  nodes_[node].directory->hooks.on_action(
      protocol::Grant{.object = target_,
                      .version = version_,
                      .grant = GrantId{NewVersion()},
                      .source = nodes_[source].info,
                      .stripes = options_.layout.all_stripes() & ~EndsAt(node),
                      .equality_ok = true,
                      .replaces = {}});
}

}  // namespace hoplite::testing
