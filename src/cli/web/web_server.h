// WebServer: a page that shows, live, what some shards know: who feeds whom, how full each copy is, which
// nodes were lost, and why an object is waited for.
//
// The page comes once; pictures follow each second as server-sent events, and the shards are asked for
// them while somebody looks. It has one thread of its own. Without a token and TLS it answers to its own
// names only.
//
//   GET /                  the page
//   GET /events            pictures, as `hoplite top --json` prints them
//   GET /object?id=HEX     what the shard knows of an object, as JSON
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "cli/top/watches.h"
#include "net/security.h"

namespace hoplite::cli::web {

struct WebOptions {
  std::string listen;
  std::vector<top::ShardPlace> shards;  // all, in order; or this process's own
  net::SecurityPtr to_shards;           // null: in plain text
  net::SecurityPtr security;  // of the page, for those with a node's certificate; null: none
  std::string token;          // that it asks for; empty: for none
  std::string remark;         // that stands above each picture; empty: none
};

class WebServer {
 public:
  //   unavailable         the address can't be listened at
  //   resource_exhausted  there are not enough descriptors or threads
  static Result<std::unique_ptr<WebServer>> Start(WebOptions options);
  // Closes all connections. Before a shard of this process stops.
  ~WebServer();

  const std::string& address() const;  // HOST:PORT really bound
  bool secure() const;                 // by TLS

 private:
  class Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoplite::cli::web
