// Settings of a node and of a directory shard: plain values with defaults. The library reads no
// environment, and no files but a shard's state_file and those of SecurityConfig. (`= {}` lets who
// names only some members compile without a warning.)
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <hoplite/export.h>
#include <hoplite/result.h>

namespace hoplite {

// How the members of a cluster recognize each other, and hide what they send: the same way on all of
// them. Certificates prove the role, too; a secret is simpler. Both give TLS 1.3 on every
// connection between members. The files are read again when they change.
struct HOPLITE_EXPORT SecurityConfig {
  // PEM files, all or none: the authority's certificates;
  std::string tls_ca = {};
  // this member's certificate, and those between it and the authority;
  std::string tls_cert = {};
  // its private key, which others on the host must not be able to read.
  std::string tls_key = {};
  // Instead of certificates: a file with the secret of the cluster, at least 16 bytes, which others on
  // the host must not be able to read.
  std::string secret_file = {};
  // The key or the secret may be readable by others on the host, as a mounted Kubernetes Secret is.
  bool readable_secrets = false;
  // Without certificates and secret a member listens on loopback only, unless this is set: then
  // everybody who reaches its port may read and change all objects.
  bool insecure = false;

  // Whether members prove to each other who they are.
  bool secured() const { return !tls_cert.empty() || !secret_file.empty(); }
  // Whether the fields make sense together; reads no file.
  //   invalid_argument  a field is missing, or one too many: names it
  Result<void> Validate() const;
};

// Of Node::Start.
struct HOPLITE_EXPORT NodeConfig {
  // Addresses of all directory shards, HOST:PORT, in the same order everywhere; of a shard with
  // several members those of all, with slashes between: "H1:7000/H2:7000/H3:7000". Required.
  std::vector<std::string> directory = {};
  // Where peers reach this node's data plane. Port 0 picks a free one.
  std::string listen = "127.0.0.1:0";
  // What peers are told instead of the listening host, without a port; needed when that is 0.0.0.0
  // or ::.
  std::string advertise = {};
  // Unix socket for worker processes; empty: only clients of this process.
  std::string socket = {};
  // The group, by name or number, whose members may use the socket, too, and then as the node's user
  // may; empty: that user alone.
  std::string socket_group = {};
  // Shared memory for objects, reserved at the start; at least 1 MiB. Required.
  std::uint64_t memory_bytes = 0;
  // Unique in the cluster; empty: derived from the node's id. At most 255 bytes of UTF-8 without
  // control and format characters and line breaks; the cluster's too.
  std::string name = {};
  // Optional name of the cluster; members of others are refused.
  std::string cluster = {};
  // Where the host stands, as "zone/rack": nodes with equal texts have fast ways to each other. Of
  // each object one stream enters a site, and the others there get it from within. Empty: nodes that
  // say nothing are in one site. Bounds as the name's.
  std::string site = {};
  // Bytes a second that the host's link carries in each direction, if it is known; 0: measured, or,
  // with a limit, that. Receivers are fed by the links that give them most.
  std::uint64_t link_bytes_per_second = 0;
  // Limit of bytes a second in each direction; 0: none. Lower leaves room for others on a shared
  // link, and makes every transfer of this node, and of those behind it, as slow.
  std::uint64_t rate_bytes_per_second = 0;
  // A peer that owes bytes or keep-alives for so long is given up. Shorter finds silent failures
  // sooner and mistakes a loaded machine for a dead one more often; longer keeps receivers waiting
  // behind a source that is gone. The same on all nodes.
  std::chrono::milliseconds stall{700};
  // How often an idle stream says that it lives; must be shorter than stall. Shorter costs a frame
  // of 12 bytes and a wake-up for each waiting stream; longer leaves less of `stall` for delays.
  std::chrono::milliseconds keepalive{200};
  // Threads that move bytes. Two reach the limit of one fast link; more cost a thread and a pool of
  // connections each, and help when links are faster than two cores can copy.
  std::uint32_t data_threads = 2;
  // What one client may have under way at a time: requests, and the objects that these delete, own,
  // disown, reduce or ask about; one more is answered resource_exhausted. Lower
  // bounds what a client that goes wrong costs this node (6.4 KB for each Get that waits); higher
  // lets an honest one ask for more at once.
  std::uint32_t requests_per_client = 65536;
  // What one client may hold of buffers, readers, drafts and subscriptions, with the objects that a
  // WaitExists waits for, at a time; one more is answered resource_exhausted. Lower bounds the
  // memory that a client pins; higher lets it keep more.
  std::uint32_t pins_per_client = 65536;
  // Memory that one process may hold here at a time, over all its clients: objects that it put, until
  // their memory is free again or the process has ended, and objects that it reads, whoever put
  // them; 0: no limit. More is answered resource_exhausted. Lower leaves memory for others.
  std::uint64_t quota_bytes = 0;
  // The same as a number of objects.
  std::uint64_t quota_objects = 0;
  // Ids that all clients of this node may own at a time; one more is answered resource_exhausted.
  // Lower bounds what they cost this node and the directory (some hundred bytes each, and as much
  // to repeat when a session begins); higher lets a runtime hold more results.
  std::uint32_t max_owned = 262144;
  // Objects that come to this node at a time; further ones wait in order. Lower needs fewer
  // connections (one for each object, two for a large one) and leaves the link idle more often when
  // objects are small; higher shares it so finely that streams look stalled.
  std::uint32_t max_fetches = 64;
  // A folder in which the node may have one file without a name: put objects lie there when memory
  // is wanted, least recently used first. It ends with the process. Empty: they stay in memory, and a
  // full store refuses puts.
  std::string spill_folder = {};
  // How large that file may become. Required with a folder; each node's own.
  std::uint64_t spill_limit_bytes = 0;
  // How many nodes have such files on that disk: it must be as large as all of them may become.
  std::uint32_t spill_nodes = 1;
  // How it recognizes the other members.
  SecurityConfig security = {};

  // Whether a node could be started with this.
  //   invalid_argument  a field is wrong: names it, and what it should be
  Result<void> Validate() const;
};

// Of Directory::Start.
struct HOPLITE_EXPORT DirectoryConfig {
  // Where nodes reach this shard. Port 0 picks a free one, which only a shard that is alone can
  // use.
  std::string listen = "127.0.0.1:0";
  // All shards in the same order everywhere, this one among them; empty: this one alone. More
  // shards share the objects and the work; a node keeps a session with each, and each that is away
  // makes its own objects wait. Of a shard with three or five members one answers, and the others
  // stand by: "H1:7000/H2:7000/H3:7000", the preferred one first. `listen` is one of them.
  std::vector<std::string> shards = {};
  // Optional name of the cluster; members of others are refused.
  std::string cluster = {};
  // A file, made if there is none, in which the shard keeps who it is over restarts: its id and the
  // number of this life. Each shard has its own, in a folder that it may write to. Empty: nodes with
  // objects tell a restarted shard who it is, and the first of them decides.
  std::string state_file = {};
  // How often nodes give signs of life. Shorter costs a small message of each node each time;
  // longer makes the lease longer.
  std::chrono::milliseconds heartbeat{200};
  // The session of a node that gives none ends after it, and nobody is sent there any more. Shorter
  // turns receivers away from a dead node sooner; longer forgives a stalled machine. Must be longer
  // than heartbeat.
  std::chrono::milliseconds lease{1000};
  // A node without a session is lost after it: its copies are forgotten, its slots in
  // reductions given to others. Shorter lets reductions go on sooner; longer lets a node come back
  // with what it has.
  std::chrono::milliseconds grace{1000};
  // How long a started shard only collects what the nodes hold; 0 for a cluster known to be new.
  // Shorter answers sooner, perhaps before every node told what it holds: a Put may then be
  // accepted although a copy of that id comes back.
  std::chrono::milliseconds recovery_window{1000};
  // It collects for longer while a node still tells what it holds, but never longer than this.
  // Shorter answers sooner although a node with very much is not done.
  std::chrono::milliseconds recovery_limit{60000};
  // What a client owned stays owned for so long after its process died, or its node was lost; and a
  // shard that was started again deletes nothing for lack of owners until lease + grace + this have
  // passed. Shorter deletes sooner; longer lets whoever shares the objects own them first.
  std::chrono::milliseconds orphan_grace{30000};
  // How long a deleted id can't be used again; at least lease + grace + orphan_grace. Shorter frees
  // the id and the mark's memory sooner; a node that was away for longer joins empty.
  std::chrono::milliseconds tombstone{60000};
  // Objects up to this size live in the directory; at most 64 KiB. Smaller spares its memory and
  // link; larger saves small objects a connection between nodes, and they outlive the node that put
  // them.
  std::uint64_t inline_limit_bytes = 16 * 1024;
  // All of them together, with the metadata of all objects; a small object beyond it is fetched from
  // its holder, and a Put is resource_exhausted if all metadata would be more. More costs memory.
  std::uint64_t inline_total_bytes = std::uint64_t{256} * 1024 * 1024;
  // Bytes of answers that may wait for one node; while there are more, what it says waits. Less
  // bounds what a slow node costs the shard; more lets it ask for more at once.
  std::uint64_t session_queue_bytes = std::uint64_t{64} * 1024 * 1024;
  // How it recognizes the nodes.
  SecurityConfig security = {};

  // Whether a shard could be started with this.
  //   invalid_argument  a field is wrong: names it, and what it should be
  Result<void> Validate() const;
};

}  // namespace hoplite
