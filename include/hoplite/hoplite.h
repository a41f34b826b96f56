// Hoplite: objects that many processes of a changing group share, broadcast by whoever has them and
// reduced wherever they are. Begin here:
//
//   auto cluster = hoplite::LocalCluster::Start({.nodes = 2}).value();  // to try it in one process
//   hoplite::Client a = cluster->client(0);  // a worker: hoplite::Client::Connect("/run/h.sock")
//   hoplite::Client b = cluster->client(1);
//   const std::vector<float> ones(1000, 1), twos(1000, 2);
//   const hoplite::ObjectId x = a.Put(ones).value();  // from here on every node can have it
//   const hoplite::ObjectId y = b.Put(twos).value();  // numbers, text or bytes
//   const hoplite::Buffer view = b.Get(x, {.timeout = 5s}).value();  // shared memory, no copy
//   auto sum = a.Reduce({.sources = {x, y}}).value();
//   const hoplite::Buffer total = b.Get(sum.target()).value();  // also while it is being made
//   const std::span<const float> threes = total.as<float>().value();
//   const hoplite::ReduceOutcome outcome = sum.Wait(5s).value();  // which sources were used
//   a.Delete(x).value();  // everywhere; `view` stays readable
//
// A broadcast is many Gets of one id, before or after the Put: whoever has a part of an object
// passes it on. An allreduce is a Reduce and a Get of its target by everybody.
//
// client.h is all that a program does with objects; it hands out the classes of buffer.h, draft.h,
// future.h, reader.h, reduction.h and subscription.h. Who runs members of the cluster, instead of
// the program `hoplite`, needs node.h, directory.h and config.h. No call throws, but `value()` of a
// Result that holds an error (result.h). examples/ has whole programs.
#pragma once

#include <hoplite/buffer.h>
#include <hoplite/channel.h>
#include <hoplite/client.h>
#include <hoplite/config.h>
#include <hoplite/directory.h>
#include <hoplite/draft.h>
#include <hoplite/drain.h>
#include <hoplite/dtype.h>
#include <hoplite/elements.h>
#include <hoplite/error.h>
#include <hoplite/future.h>
#include <hoplite/local_cluster.h>
#include <hoplite/log.h>
#include <hoplite/node.h>
#include <hoplite/object_id.h>
#include <hoplite/options.h>
#include <hoplite/reader.h>
#include <hoplite/reduce.h>
#include <hoplite/reduction.h>
#include <hoplite/register.h>
#include <hoplite/result.h>
#include <hoplite/status.h>
#include <hoplite/subscription.h>
#include <hoplite/version.h>
