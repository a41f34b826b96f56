// LocalClients: what the clients of a node have under way and pinned, and what each of them may.
// Told by their sessions. On the node's loop only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <hoplite/result.h>

#include "base/clock.h"
#include "node/local/holdings.h"
#include "node/local/joint_gets.h"

namespace hoplite::node {

struct ClientLimits {
  std::uint32_t requests = 65536;
  std::uint32_t pins = 65536;
  Quota quota = {};           // of each process, over all its clients
  bool others_write = false;  // users beside the node's may fill objects, who can connect
};

struct ClientUse {
  std::size_t requests = 0;
  std::size_t pins = 0;  // views, readers, drafts and subscriptions
};

class LocalClients {
 public:
  explicit LocalClients(ClientLimits limits) : limits_(limits) {}

  // While it lives one client is counted, with what its session reads out of itself.
  class Member {
   public:
    // pid: of its process; 0: not known.
    Member(std::shared_ptr<LocalClients> clients, pid_t pid)
        : clients_(std::move(clients)), holdings_(clients_->HoldingsOf(pid)) {
      clients_->members_.insert(this);
    }
    virtual ~Member() {
      clients_->members_.erase(this);
      clients_->last_seen_ = Now();
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    virtual ClientUse use() const = 0;

   protected:
    const LocalClients& clients() const { return *clients_; }
    Holdings& holdings() const { return *holdings_; }
    const std::shared_ptr<Togethers>& togethers() const { return clients_->togethers_; }
    void NoteFailure(const Error& error) {
      ++clients_->failures_.at(static_cast<std::size_t>(error.code));
    }
    // Never 0, and never given before.
    std::uint64_t NewNumber() { return ++clients_->begun_; }

   private:
    const std::shared_ptr<LocalClients> clients_;
    const std::shared_ptr<Holdings> holdings_;
  };

  const ClientLimits& limits() const { return limits_; }
  std::size_t count() const { return members_.size(); }
  // For how long there has been none; zero while there is one.
  Duration idle() const { return members_.empty() ? Now() - last_seen_ : Duration{0}; }
  ClientUse total() const {
    ClientUse sum;
    for (const Member* member : members_) {
      sum.requests += member->use().requests;
      sum.pins += member->use().pins;
    }
    return sum;
  }
  // Requests that were answered with such an error.
  std::uint64_t failures(ErrorCode code) const {
    return failures_.at(static_cast<std::size_t>(code));
  }
  // Which process keeps most memory by what it reads or writes, and by what it put: "clients keep:
  // 100 bytes (pid 12), 50 bytes (pid 13), 10 bytes (4 others); clients have put: 8 bytes (pid 12)".
  std::string KeptInWords() const;
  // Of the process that holds most of each.
  Holdings::Use most_held() const;
  // Of whoever has most of each.
  ClientUse most() const {
    ClientUse most;
    for (const Member* member : members_) {
      most.requests = std::max(most.requests, member->use().requests);
      most.pins = std::max(most.pins, member->use().pins);
    }
    return most;
  }

 private:
  static constexpr std::size_t kFewProcesses = 64;

  std::shared_ptr<Holdings> HoldingsOf(pid_t pid);
  void ForgetProcesses();

  const ClientLimits limits_;
  const std::shared_ptr<Togethers> togethers_ = std::make_shared<Togethers>();
  std::unordered_set<const Member*> members_;
  // Of those that have clients, or hold something and live.
  std::vector<std::shared_ptr<Holdings>> processes_;
  std::size_t look_at_ = kFewProcesses;  // so many: then those that are gone are looked for
  std::uint64_t begun_ = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(kLastErrorCode) + 1> failures_{};
  Time last_seen_ = Now();  // when one ended
};

}  // namespace hoplite::node
