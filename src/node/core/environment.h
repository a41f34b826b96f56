// Environment: what a node reaches the outside with. Tests replace what they like.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include <hoplite/config.h>
#include <hoplite/result.h>

#include "base/process_use.h"
#include "base/time.h"
#include "directory/directory_client.h"
#include "net/security.h"
#include "net/stream.h"
#include "node/core/decisions.h"
#include "store/disk.h"
#include "store/segment.h"

namespace hoplite::node {

struct Environment {
  std::function<std::unique_ptr<directory::DirectoryClient>(asio::io_context&)> directory;
  std::function<std::unique_ptr<net::Transport>(std::vector<asio::io_context*>)> transport;
  std::function<Result<std::unique_ptr<store::SharedSegment>>(std::uint64_t)> segment;
  // In this folder, of so many bytes; asked only if the configuration names one.
  std::function<Result<std::shared_ptr<store::Disk>>(const std::string&, std::uint64_t)> disk;
  std::shared_ptr<const Decisions> decisions;
  // What the node's process takes; empty: nobody is told. Main loop only.
  std::function<ProcessUse()> process;
};

// Fills what is empty: TCP, with TLS unless `security` is null; a memfd.
Environment WithDefaults(const NodeConfig& config, Environment environment,
                         const net::SecurityPtr& security = nullptr);

}  // namespace hoplite::node
