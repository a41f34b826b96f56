#include "testing/node_by_hand.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "net/handshake.h"
#include "store/segment.h"
#include "wire/frame.h"

namespace hoplite::testing {
namespace {

constexpr Duration kBound = std::chrono::minutes(10);  // virtual

// By the alternatives of NodeEvent. Empty: a report that comes by the clock.
std::string_view WordFor(const protocol::NodeEvent& event) {
  const auto of = []<typename Word>(const Word&) -> std::string_view {
    if constexpr (std::is_same_v<Word, protocol::Create>) return "create";
    if constexpr (std::is_same_v<Word, protocol::Withdraw>) return "withdraw";
    if constexpr (std::is_same_v<Word, protocol::CopyComplete>) return "complete";
    if constexpr (std::is_same_v<Word, protocol::CopyGone>) return "gone";
    if constexpr (std::is_same_v<Word, protocol::CopyMoved>) return "moved";
    if constexpr (std::is_same_v<Word, protocol::Locate>) return "locate";
    if constexpr (std::is_same_v<Word, protocol::CancelLocate>) return "cancel locate";
    if constexpr (std::is_same_v<Word, protocol::Want>) return "want";
    if constexpr (std::is_same_v<Word, protocol::CancelWant>) return "cancel want";
    if constexpr (std::is_same_v<Word, protocol::GrantClosed>) return "closed";
    if constexpr (std::is_same_v<Word, protocol::Delete>) return "delete";
    if constexpr (std::is_same_v<Word, protocol::EvictAsk>) return "evict?";
    if constexpr (std::is_same_v<Word, protocol::Subscribe>) return "subscribe";
    if constexpr (std::is_same_v<Word, protocol::Unsubscribe>) return "unsubscribe";
    if constexpr (std::is_same_v<Word, protocol::Held>) return "held";
    if constexpr (std::is_same_v<Word, protocol::HeldBytes>) return "bytes";
    if constexpr (std::is_same_v<Word, protocol::Tombstone>) return "tombstone";
    if constexpr (std::is_same_v<Word, protocol::Owner>) return "owner of";
    if constexpr (std::is_same_v<Word, protocol::Owned>) return "owned";
    if constexpr (std::is_same_v<Word, protocol::ReduceOpen>) return "reduce into";
    if constexpr (std::is_same_v<Word, protocol::ReduceClose>) return "close";
    return "";
  };
  return std::visit(of, event);
}

std::string Details(const protocol::NodeEvent& event) {
  if (const auto* closed = std::get_if<protocol::GrantClosed>(&event)) {
    constexpr std::array<std::string_view, 5> kOutcomes{"", " done", " failed", " declined",
                                                        " abandoned"};
    return std::string(kOutcomes.at(static_cast<std::size_t>(closed->outcome)));
  }
  if (const auto* held = std::get_if<protocol::Held>(&event)) {
    return std::string(held->complete        ? " complete"
                       : held->produces != 0 ? " producing"
                                             : " partial") +
           (held->primary ? " primary" : "") + (!held->upstreams.empty() ? " pulling" : "") +
           (held->ever_owned ? " ever owned" : "");
  }
  if (const auto* want = std::get_if<protocol::Want>(&event)) return want->joint ? " jointly" : "";
  if (const auto* locate = std::get_if<protocol::Locate>(&event)) {
    return locate->expects != 0 ? " if owned" : "";
  }
  if (const auto* subscribe = std::get_if<protocol::Subscribe>(&event)) {
    return subscribe->expects != 0 ? " if owned" : "";
  }
  if (const auto* owner = std::get_if<protocol::Owner>(&event)) return owner->own ? " +" : " -";
  if (const auto* owned = std::get_if<protocol::Owned>(&event)) return owned->own ? " +" : " -";
  if (const auto* reduce = std::get_if<protocol::ReduceOpen>(&event)) {
    return reduce->owned ? " owned" : "";
  }
  const auto* create = std::get_if<protocol::Create>(&event);
  if (create == nullptr) return "";
  return std::string(create->inline_bytes ? " with bytes" : "") + (create->owned ? " owned" : "") +
         (create->only_if_owned ? " if owned" : "");
}

std::span<const std::byte> BytesOf(const std::string& text, ByteRange range) {
  return std::as_bytes(std::span(text)).subspan(range.begin, range.size());
}

}  // namespace

class NodeByHand::Peer {
 public:
  Peer(node::Assembly& parts, protocol::NodeInfo info, std::string bytes, Layout layout,
       bool says_end)
      : parts_(parts),
        info_(std::move(info)),
        bytes_(std::move(bytes)),
        layout_(layout),
        says_end_(says_end) {}

  void Listen(net::Transport& transport) {
    auto listener = transport.Listen(info_.address, [this](net::StreamPtr stream) {
      parts_.runtime.Spawn(stream->loop(), "a peer", Serve(stream));
    });
    ASSERT_TRUE(listener);
    listener_ = *std::move(listener);
  }
  const protocol::NodeInfo& info() const { return info_; }

 private:
  net::Task<void> Serve(net::StreamPtr stream);
  net::Task<bool> SendBlock(net::ConnectionPtr connection, std::uint64_t block);

  node::Assembly& parts_;
  const protocol::NodeInfo info_;
  const std::string bytes_;
  const Layout layout_;
  const bool says_end_;
  std::unique_ptr<net::Listener> listener_;
};

NodeByHand::NodeByHand(std::uint64_t memory_bytes, std::uint32_t max_owned) {
  NodeConfig config;
  config.directory = {"the test"};
  config.name = "n1";
  config.listen = "n1:1";
  config.memory_bytes = memory_bytes;
  config.data_threads = 1;
  config.max_owned = max_owned;
  node::Settings settings = node::MakeSettings(config);
  settings.self = NodeId{1};
  node::Environment test;
  test.directory = [this](asio::io_context&) {
    auto directory = std::make_unique<DirectoryByHand>();
    directory_ = directory.get();
    return directory;
  };
  test.transport = [this](const std::vector<asio::io_context*>& loops) {
    auto transport = std::make_unique<TransportByHand>(*loops.front());
    transport_ = transport.get();
    return transport;
  };
  test.decisions = std::make_shared<node::Decisions>();
  parts_ = std::make_unique<node::Assembly>(config, std::move(settings), test,
                                            store::CreateHeapSegment(memory_bytes));
  EXPECT_TRUE(parts_->Listen());
  parts_->Join();
  directory_->hooks.on_owner_terms(0, kTerms);
  Turn();
}

NodeByHand::~NodeByHand() {
  parts_->Stop(Error(ErrorCode::kUnavailable, "the node is stopping"));
  transport_->FailConnect();
  Turn();
  const Time bound = time_.Now() + kBound;
  while (parts_->runtime.tasks() > 0 && time_.next() < bound) {
    time_.Step();
    Turn();
  }
  EXPECT_EQ(parts_->runtime.tasks(), 0u) << "tasks that nothing ends";
}

void NodeByHand::Turn() {
  for (;;) {
    std::size_t ran = 1;
    while (ran > 0) {
      ran = 0;
      for (asio::io_context* loop : parts_->runtime.all_loops()) ran += loop->poll();
    }
    if (time_.next() > time_.Now()) return;
    time_.Step();  // due now: what streams deliver, for one
  }
}

void NodeByHand::Pass(Duration time) {
  const Time end = time_.Now() + time;
  time_.At(end, [] {});
  while (time_.next() <= end) {
    time_.Step();
    Turn();
  }
}

void NodeByHand::EndSession() {
  directory_->open = false;
  directory_->hooks.on_session(0, false);
  Turn();
}

void NodeByHand::OpenSession() {
  directory_->open = true;
  directory_->hooks.on_owner_terms(0, kTerms);
  directory_->hooks.on_session(0, true);
  Turn();
}

void NodeByHand::Hear(const protocol::NodeAction& word) {
  directory_->hooks.on_action(word);
  Turn();
}

std::vector<std::string> NodeByHand::Says() { return InWords(std::exchange(directory_->said, {})); }

std::vector<std::string> NodeByHand::Inventory() {
  return InWords(directory_->hooks.inventory(0, std::nullopt, 1_MiB, {}).events);
}

std::vector<std::string> NodeByHand::InWords(const std::vector<protocol::NodeEvent>& events) const {
  std::vector<std::string> words;
  for (const protocol::NodeEvent& event : events) {
    std::string word(WordFor(event));
    if (word.empty()) continue;
    const ObjectId* const object = protocol::ObjectOf(event);
    const auto name = object != nullptr ? names_.find(*object) : names_.end();
    if (name != names_.end()) word += " " + name->second;
    words.push_back(word + Details(event));
  }
  return words;
}

ObjectId NodeByHand::Named(const std::string& name) {
  const ObjectId object = ObjectId::FromName(name);
  names_[object] = name;
  return object;
}

node::CallPtr NodeByHand::NewCall(Time deadline) {
  auto call = std::make_shared<node::Call>(parts_->runtime.main());
  call->deadline = deadline;
  return call;
}

node::CallPtr NodeByHand::NewCallOf(const node::OwnerPtr& client, Time deadline) {
  auto call = NewCall(deadline);
  call->client = client;
  return call;
}

store::CopyPtr NodeByHand::Keep(const ObjectId& object, const std::string& bytes, Version version,
                                store::CopyKind kind) {
  const Layout layout = Layout::For(bytes.size());
  const store::CopyPtr copy = *parts_->store.Create(object, layout, "", kind);
  std::ranges::copy(std::as_bytes(std::span(bytes)), copy->bytes().begin());
  for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
    copy->Advance(s, layout.stripe_block_count(s));
  }
  copy->set_version(version);
  EXPECT_TRUE(copy->Seal());
  return copy;
}

const protocol::NodeInfo& NodeByHand::AddPeer(std::uint64_t number, std::string bytes,
                                              Layout layout, bool says_end) {
  const std::string name = "n" + std::to_string(number);
  peers_.push_back(std::make_unique<Peer>(*parts_,
                                          protocol::NodeInfo{NodeId{number}, name, name + ":1"},
                                          std::move(bytes), layout, says_end));
  peers_.back()->Listen(*transport_);
  return peers_.back()->info();
}

net::Task<void> NodeByHand::Peer::Serve(net::StreamPtr stream) {
  const net::Identity self{parts_.settings.cluster_id, info_.id};
  const auto greeted = co_await net::Answer(stream, self);
  if (!greeted) co_return;
  const net::ConnectionPtr connection = *greeted;
  const auto asked = co_await connection->reader.Next();
  const auto* fetch = asked ? std::get_if<wire::Fetch>(&*asked) : nullptr;
  if (fetch == nullptr) co_return;
  for (std::uint64_t block = 0; block < layout_.block_count(); ++block) {
    const std::uint32_t stripe = layout_.stripe_of(block);
    const bool wanted = (fetch->stripes >> stripe & 1) != 0;
    if (!wanted || layout_.index_in_stripe(block) < fetch->next[stripe]) continue;
    if (!co_await SendBlock(connection, block)) co_return;
  }
  if (says_end_) {
    wire::Frame end{wire::End{wire::EndReason::kFinal, fetch->stripes}};
    const auto sent = co_await connection->Send(std::move(end));
    if (sent) static_cast<void>(co_await connection->reader.Next());  // DONE
  }
  stream->Close();
}

net::Task<bool> NodeByHand::Peer::SendBlock(net::ConnectionPtr connection, std::uint64_t block) {
  const ByteRange range = layout_.block_range(block);
  wire::Data data;
  data.stripe = layout_.stripe_of(block);
  data.first_block = layout_.index_in_stripe(block);
  data.block_count = 1;
  data.payload_bytes = static_cast<std::uint32_t>(range.size());
  data.checksums[0] = BlockChecksum(BytesOf(bytes_, range));
  const std::vector<std::byte> head = wire::Encode(wire::Frame(data));
  net::Payload payload;
  payload.bytes = BytesOf(bytes_, range);
  const auto sent = co_await connection->stream->Send(head, payload);
  co_return sent.has_value();
}

}  // namespace hoplite::testing
