// What the library itself needs of its public types.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/client.h>

#include "base/mutex.h"
#include "base/own_process.h"
#include "base/time.h"
#include "client/connection.h"
#include "client/futures.h"
#include "client/own_node.h"
#include "client/question.h"

namespace hoplite {

namespace client {

// Where an object of this metadata and size goes; an error gives the object up.
using RoomFor = std::function<Result<std::span<std::byte>>(const std::string&, std::uint64_t)>;
// The same of the object at this place among several; an error gives all of them up.
using RoomForEach =
    std::function<Result<std::span<std::byte>>(std::size_t, const std::string&, std::uint64_t)>;

}  // namespace client

// A worker's connection that was lost is replaced at the next call; what was made through the old
// one (pins, drafts, subscriptions) stays its own.
struct Client::State {
  // `path` empty: a client in the node's process, whose node does not come back.
  State(std::shared_ptr<client::Connection> first, std::string path_in, client::NodeOf whose_in)
      : path(std::move(path_in)), whose(whose_in), current(std::move(first)) {}
  ~State();  // with the last handle: what it owns it owns no longer
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // The connection to use now. If it is lost, no other could be made by `deadline`, and it says
  // why.
  std::shared_ptr<client::Connection> Now(Time deadline);
  // The one that there is, which may be lost: waits for nobody, nor for who attaches anew.
  std::shared_ptr<client::Connection> Current();
  void Close();
  std::string NodeName();

  // Makes a request that names these objects.
  using RequestOf = client::local::Request (*)(std::span<const ObjectId>, const CallOptions&);
  Result<void> OnEach(std::span<const ObjectId> ids, const CallOptions& options,
                      RequestOf request_of);
  Future<void> BeginOnEach(std::span<const ObjectId> ids, const CallOptions& options,
                           RequestOf request_of);

  // What one request does, and how its answer is read (exchanges.cpp).
  client::Exchange<Buffer> Getting(const ObjectId& id, const CallOptions& options);
  client::Exchange<Reader> Opening(const ObjectId& id, const CallOptions& options);
  client::Exchange<Draft> Creating(const ObjectId& id, std::uint64_t size_bytes,
                                   const CreateOptions& options);
  client::Exchange<std::vector<ObjectId>> WaitingForExistence(std::span<const ObjectId> ids,
                                                              std::size_t count,
                                                              const CallOptions& options);
  Future<ObjectId> Putting(std::shared_ptr<const void> owner,
                           std::span<const std::span<const std::byte>> pieces,
                           const PutOptions& options);
  client::Exchange<DrainOutcome> Draining(std::chrono::milliseconds timeout);

  const OwnProcess process;
  const std::string path;
  const client::NodeOf whose;
  TimedMutex mutex;  // held while somebody attaches anew
  bool closed HOPLITE_GUARDED_BY(mutex) = false;
  Mutex current_mutex;  // within the other one, and never for long
  std::shared_ptr<client::Connection> current HOPLITE_GUARDED_BY(current_mutex);
};

class ClientAccess {
 public:
  using DraftImpl = Draft::Impl;
  using ReaderImpl = Reader::Impl;

  static Client Make(std::shared_ptr<client::Connection> connection, std::string path = {},
                     client::NodeOf whose = client::NodeOf::kAnybody);
  // As Client::Connect, at a path that nobody named; also when the client attaches anew.
  //   invalid_argument  the node is neither this user's nor root's
  static Result<Client> ConnectToOwn(const std::string& path, std::chrono::milliseconds timeout);
  // HOST:PORT of each shard of its node's directory.
  static std::vector<std::string> DirectoryOf(const Client& client) {
    return client.state_->Current()->directory();
  }
  // As Client::GetManyInto, for who has to know what an object is before giving memory: asked for
  // once it exists, before a byte is copied; again if it was replaced meanwhile.
  static std::vector<Result<std::uint64_t>> GetManyInto(Client& client,
                                                        std::span<const ObjectId> ids,
                                                        const client::RoomForEach& room_for,
                                                        const CallOptions& options);
  // From the View that answered request `id`, an Open: the reader releases it. protocol: as in
  // MakeBuffer.
  static Result<std::unique_ptr<ReaderImpl>> MakeReader(
      std::shared_ptr<client::Connection> connection, const ObjectId& object, std::uint64_t id,
      const client::local::View& view);
  // Ready, with the error that says why, when the connection that the client has now has ended. The
  // connection keeps a note of it to its end.
  static std::unique_ptr<client::Question> UntilEnd(Client& client, Time deadline);
  // Where there are several shards one that is silent for `patience` is away.
  static Result<ClusterStatus> Status(Client& client, std::chrono::milliseconds timeout,
                                      std::uint64_t max_objects, Duration patience);
  // From the View that answered request `id`: the buffer releases it. protocol: it is not inside the
  // segment.
  static Result<Buffer> MakeBuffer(std::shared_ptr<client::Connection> connection,
                                   const ObjectId& object, std::uint64_t id,
                                   const client::local::View& view);
  // Of a channel; the newest object is the first.
  static Result<Snapshot> MakeSnapshot(std::uint64_t version, std::vector<Buffer> objects);
  static const Register::State& StateOf(const Register& opened) { return *opened.state_; }
  static const detail::Asked* AskedOf(const Reduction& reduction);      // null: it is empty
  static const client::Question* QuestionOf(const Waitable& waitable);  // null: what is empty
  static client::Question& QuestionOf(const detail::Asked& asked) { return *asked.question_; }
};

}  // namespace hoplite
