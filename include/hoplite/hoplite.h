// Hoplite: objects that many processes of a changing group share, broadcast by whoever has them and
// reduced wherever they are.
//
//   auto directory = hoplite::Directory::Start({});
//   auto node = hoplite::Node::Start({.directory = {(*directory)->address()},
//                                     .memory_bytes = 1ull << 30});
//   hoplite::Client client = (*node)->client();  // or Client::Connect("/run/hoplite.sock")
//   const auto id = client.Put("weights");       // from here on every node can have it
//   if (!id) return Fail(id.error());
//   const auto view = client.Get(*id, {.timeout = 5s});  // shared memory, read-only, no copy
//   if (!view) return Fail(view.error());
//   Use(view->bytes());
//
// A broadcast is many Gets of one id, before or after the Put: whoever has a part of an object
// passes it on. examples/broadcast.cpp is the whole program.
//
//   auto sum = client.Reduce({.sources = ids, .op = hoplite::Op::kSum,
//                             .dtype = hoplite::DType::kFloat32, .num_objects = 3});
//   if (!sum) return Fail(sum.error());
//   const auto total = client.Get(sum->target());  // anybody may, also before it is done
//
// An allreduce is a Reduce and a Get of its target by everybody: examples/reduce.cpp.
#pragma once

#include <hoplite/buffer.h>
#include <hoplite/client.h>
#include <hoplite/config.h>
#include <hoplite/directory.h>
#include <hoplite/forever.h>
#include <hoplite/future.h>
#include <hoplite/local_cluster.h>
#include <hoplite/node.h>
#include <hoplite/object_id.h>
#include <hoplite/reduce.h>
#include <hoplite/reduce_options.h>
#include <hoplite/reduction.h>
#include <hoplite/result.h>
#include <hoplite/status.h>
#include <hoplite/version.h>
