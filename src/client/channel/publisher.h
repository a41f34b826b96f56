// Publisher: the publishing side of an open channel (R99).
//
// Decides: what a version is made of, when the head moves, and when a version goes. Is told: parts,
// and what the register answers. Must never: move the head before its objects are whole and owned,
// or off another publisher's claim; let an object go that a kept version lists; keep more than one
// version whose move had no answer. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <hoplite/channel.h>
#include <hoplite/client.h>
#include <hoplite/register.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "client/channel/head.h"
#include "client/channel/kept_versions.h"
#include "client/channel/packing.h"
#include "client/question.h"

namespace hoplite::client {

class Publisher {
 public:
  // `head` outlives it.
  Publisher(Client client, const Register& head, std::string name, const ChannelOptions& options);

  Result<std::uint64_t> Publish(std::span<const Part> parts, const PublishOptions& options,
                                Time deadline);
  // Claims the channel. What its last publisher published stays.
  Result<void> TakeOver(Time deadline);
  // What it published goes.
  void End();

 private:
  using Objects = KeptVersions::Objects;
  // A version that was put.
  struct Made {
    Objects objects;
    Manifest manifest = {};  // empty: not known
    std::vector<std::uint64_t> object_bytes = {};
  };

  Result<void> Look(Time deadline);
  Result<void> CheckVersion(std::optional<std::uint64_t> version) const;
  bool Settle(const std::optional<Head>& head);
  void Keep(Made made);
  Result<Made> Make(std::span<const Part> parts, const std::string& metadata, Time deadline);
  Result<Made> PutPacked(const Packing& packing, Time deadline);
  Result<ObjectId> Put(std::span<const std::span<const std::byte>> pieces, Time deadline);
  Result<bool> StillHas(std::span<const ObjectId> objects, Time deadline);
  std::optional<Version> LastVersion(std::span<const Part> parts, std::vector<Buffer>& objects,
                                     Time deadline);
  void Remember(std::span<const Part> parts);
  Result<Objects> Own(const std::optional<Head>& head, Time deadline);
  Result<bool> Move(const Objects& objects, std::optional<std::uint64_t> version, Time deadline);
  Result<bool> OnConflict(const RegisterEntry& there, std::optional<std::uint64_t> version);
  Error Fenced();
  std::unique_ptr<Question> AskWhoFetches() const;
  void DropOld(Time deadline);
  void DeleteCondemned(Time deadline);
  Error Wrong(ErrorCode code, const std::string& what) const;

  Client client_;
  const Register& head_;
  const std::string name_;
  const bool deltas_;

  std::optional<Claim> claim_;
  bool fenced_ = false;                     // it was the publisher once
  RegisterNumber number_;                   // of the head, as this publisher knows it
  std::uint64_t version_ = 0;               // of the head
  std::optional<std::uint64_t> published_;  // the last version of its own
  KeptVersions kept_;
  std::unique_ptr<Question> fetched_;  // whether somebody fetches what may go next
  Objects unsure_;                     // of a version whose move had no answer
  // Of the newest, if it made that one.
  Manifest last_;
  std::vector<std::uint64_t> last_object_bytes_;
  std::vector<std::string> last_parts_;  // for patches: the bytes of those that may get some
  Objects condemned_;                    // of no kept version, and perhaps still there
};

}  // namespace hoplite::client
