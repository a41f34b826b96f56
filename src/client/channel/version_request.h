// VersionRequest: one wait for a version of a channel: for a head that is wanted, and then for its
// objects.
//
// Decides: which head's objects are asked for, and when they are given up for a later one's. Is told:
// what was asked of the register and of the client, on the reader's thread; that it is given up. Must
// never: give objects of two versions; wait for a version that nobody has while there is a later one.
// Thread-safe: whichever thread comes, one at a time takes the next steps.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/channel.h>
#include <hoplite/client.h>
#include <hoplite/register.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "client/channel/head.h"
#include "client/connection.h"
#include "client/question.h"

namespace hoplite::client {

class VersionRequest : public std::enable_shared_from_this<VersionRequest> {
 public:
  struct Wanted {
    VersionOptions version;
    bool objects = true;  // false: its head is enough
  };
  struct Found {
    Head head;
    std::vector<Buffer> objects;
  };
  // What it asks with. `head` is asked for, each time, whether the channel is still open.
  struct Means {
    Client client;
    std::shared_ptr<Connection> connection;
    std::function<Result<const Register*>()> head;
  };

  VersionRequest(Means means, std::string name, Wanted wanted, Time deadline);

  void Start() { Turn(); }
  // Settled at the end: with some answer, or why there is no such version.
  const PendingPtr& done() const { return done_; }
  // Once, after a good end.
  Found Take() { return std::move(*found_); }
  // When it returns `done` is settled: with `why`, unless it was before.
  void GiveUp(const Error& why);

 private:
  // What is waited for.
  enum class Stage { kBegin, kHead, kObjects, kLater };

  void Turn();
  bool Step();
  void AskForHead();
  bool OnHead();
  bool OnLater();
  bool OnObjects();
  bool OnMoved();
  bool OnInfos();
  void Judge();
  void AskForObjects();
  void AskForLater();
  void WatchHead(RegisterNumber after);
  void AskForInfos();
  bool Wants(const Head& head) const;
  void Forget();
  void End(Result<void> outcome);
  void Fail(Error why);
  template <typename T>
  void TurnAtAnswer(T& asked);

  Means means_;
  const std::string name_;
  const Wanted wanted_;
  const Time deadline_;
  const PendingPtr done_;
  std::atomic<int> turns_{0};

  // Of whoever takes the steps.
  Stage stage_ = Stage::kBegin;
  RegisterEntry entry_;
  std::optional<Head> head_;                    // of that entry
  std::optional<Future<RegisterEntry>> later_;  // kHead, kLater: the next entry
  std::vector<Future<Buffer>> objects_;         // kObjects
  std::optional<Future<RegisterEntry>> moved_;  // kObjects: the head moved meanwhile
  std::unique_ptr<Question> infos_;             // kObjects: whether anybody has them
  std::optional<Found> found_;
};

}  // namespace hoplite::client
