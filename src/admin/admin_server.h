// AdminServer: what programs outside of Hoplite ask a shard, by gRPC, on a port of its own.
//
// It has one thread for the port and for answers, beside those of gRPC, whose number has a limit. The
// header brings no gRPC, nor does a build without it (HOPLITE_ADMIN=OFF): there Start is an error.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "net/security.h"

namespace hoplite::directory {
class DirectoryService;
}  // namespace hoplite::directory

namespace hoplite::admin {

struct AdminOptions {
  std::string listen;               // HOST:PORT; port 0 picks a free one
  std::vector<std::string> shards;  // of the directory, in order; empty: this one alone
  std::string shard;                // this one, as the list writes it
  net::SecurityPtr security;        // of certificates, which clients must have; null: plain text
};

class AdminServer {
 public:
  //   unavailable         the address can't be listened at; this build has no admin service
  //   resource_exhausted  there are not enough descriptors or threads
  static Result<std::unique_ptr<AdminServer>> Start(
      const AdminOptions& options, std::shared_ptr<directory::DirectoryService> shard);
  // Answers all calls, at the latest after half a second. Before the shard stops.
  ~AdminServer();

  const std::string& address() const;  // HOST:PORT really bound

 private:
  class Impl;
  explicit AdminServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoplite::admin
