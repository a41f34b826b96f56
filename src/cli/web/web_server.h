// WebServer: a page that shows, live, what one shard knows: who feeds whom, how full each copy is, which
// nodes were lost, and why an object is waited for.
//
// The page comes once; pictures follow each second as server-sent events, and the shard is asked for
// them while somebody looks. It has one thread of its own.
//
//   GET /                  the page
//   GET /events            pictures, as `hoplite top --json` prints them
//   GET /object?id=HEX     what the shard knows of an object, as JSON
#pragma once

#include <memory>
#include <string>

#include <hoplite/result.h>

namespace hoplite::directory {
class DirectoryService;
}  // namespace hoplite::directory

namespace hoplite::cli::web {

class WebServer {
 public:
  //   unavailable         the address can't be listened at
  //   resource_exhausted  there are not enough descriptors or threads
  static Result<std::unique_ptr<WebServer>> Start(
      const std::string& listen, std::shared_ptr<directory::DirectoryService> shard);
  // Closes all connections. Before the shard stops.
  ~WebServer();

  const std::string& address() const;  // HOST:PORT really bound

 private:
  class Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoplite::cli::web
