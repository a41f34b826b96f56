// ShardAnswer: the answer to one question, made piece by piece: the picture of a shard has megabytes,
// and the shard's loop has sessions to serve between two pieces.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "base/recorder.h"
#include "protocol/views.h"

namespace hoplite::directory {

class ShardAnswer {
 public:
  static ShardAnswer Of(protocol::StatusPage page);
  static ShardAnswer Of(const Result<protocol::ObjectView>& found);
  static ShardAnswer Of(const Error& why, const protocol::ShardMembers& members = {});
  static ShardAnswer Of(const std::vector<Recorded>& decisions);

  // The next bytes of a serialized ShardMessage, some 64 KiB; `last` tells whether these were all.
  std::string Next(bool& last);

 private:
  void AddNode();
  void AddObject();
  void AddRest();

  // Of a picture, what is left of it. Messages that follow each other are read as one.
  protocol::StatusPage page_;
  std::size_t nodes_ = 0;
  std::size_t objects_ = 0;
  bool whole_ = false;  // everything is in bytes_
  std::string bytes_;
};

}  // namespace hoplite::directory
