// Questions: what programs ask the shard about its state, one question after the other. However many
// ask, the shard's loop serves its sessions between any two of them, and between the parts of a long
// one.
//
// Decides: whose turn it is, and that no more wait than kMost. Must never answer while the shard
// collects what its nodes hold: what it does not know then may be there. On its own loop, but for
// Status and Info.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "directory/directory_service.h"
#include "protocol/presence.h"
#include "protocol/views.h"

namespace hoplite::admin {

// What the shard knows of an object. `view` has its id, also where nothing else is known.
struct Known {
  protocol::ObjectView view;
  protocol::Presence presence = protocol::Presence::kAbsent;
  std::optional<Error> why;  // it is not there
};
struct Picture {
  protocol::StatusPage page;
  std::vector<Known> objects;  // of the page, in its place
};

class Questions : public std::enable_shared_from_this<Questions> {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;
  static constexpr std::size_t kMost = 1000;

  Questions(asio::io_context& loop, std::shared_ptr<directory::DirectoryService> shard)
      : loop_(loop), shard_(std::move(shard)) {}

  // Any thread; `done` runs on the loop. `wanted` is asked when it is the question's turn: whoever has
  // gone is not answered.
  //   unavailable         the shard collects
  //   resource_exhausted  too many wait
  void Status(const protocol::PageRequest& page, std::function<bool()> wanted, Done<Picture> done);
  void Info(std::vector<ObjectId> objects, std::function<bool()> wanted,
            Done<std::vector<Known>> done);

 private:
  struct Question {
    std::function<bool()> wanted;
    std::function<void()> ask;  // calls Answered when it is over
    std::function<void(Error)> refuse;
  };
  struct Batch;

  void Add(Question question);
  void AskNext();
  template <typename T>
  void Answered(const Done<T>& done, Result<T> answer);
  void LookAtSome(const std::shared_ptr<Batch>& batch);

  asio::io_context& loop_;
  const std::shared_ptr<directory::DirectoryService> shard_;
  std::deque<Question> waiting_;
  bool asking_ = false;
};

}  // namespace hoplite::admin
