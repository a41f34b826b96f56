// The C interface: a node in this process.
#include <memory>
#include <string>

#include <hoplite/node.h>

#include "client/c/handles.h"

using namespace hoplite;
using c::Answer;
using c::NotNull;

struct hoplite_node {
  std::unique_ptr<Node> node;
  std::string name;
};

namespace {

void Set(const char* given, std::string& field) {
  if (given != nullptr) field = given;
}

Result<NodeConfig> ConfigOf(const hoplite_node_config& given) {
  if (given.directory_count > 0) TRY(NotNull(given.directory, "directory"));
  NodeConfig config;
  for (std::size_t i = 0; i < given.directory_count; ++i) {
    TRY(NotNull(given.directory[i], "a shard's address"));
    config.directory.emplace_back(given.directory[i]);
  }
  config.memory_bytes = given.memory_bytes;
  Set(given.listen, config.listen);
  Set(given.advertise, config.advertise);
  Set(given.socket, config.socket);
  Set(given.name, config.name);
  Set(given.cluster, config.cluster);
  Set(given.tls_ca, config.security.tls_ca);
  Set(given.tls_cert, config.security.tls_cert);
  Set(given.tls_key, config.security.tls_key);
  Set(given.secret_file, config.security.secret_file);
  config.security.insecure = given.insecure != 0;
  return config;
}

}  // namespace

int hoplite_node_start(const hoplite_node_config* config, hoplite_node** node) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(config, "config", node, "node"));
    TRY_ASSIGN(const NodeConfig checked, ConfigOf(*config));
    TRY_ASSIGN(std::unique_ptr<Node> started, Node::Start(checked));
    std::string name = started->name();
    *node = new hoplite_node{std::move(started), std::move(name)};
    return {};
  });
}

int hoplite_node_client(hoplite_node* node, hoplite_client** client) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(node, "node", client, "client"));
    *client = new hoplite_client{node->node->client()};
    return {};
  });
}

const char* hoplite_node_name(const hoplite_node* node) {
  return node == nullptr ? "" : node->name.c_str();
}

void hoplite_node_free(hoplite_node* node) { delete node; }
