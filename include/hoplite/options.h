// Options of a client's calls: plain values with defaults. (`= {}` lets who names only some members
// compile without a warning.) Those of a Reduce are in reduce.h.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include <hoplite/dtype.h>
#include <hoplite/object_id.h>

namespace hoplite {

// What `timeout` means wherever it stands: the call ends after so long, with the error `timeout` if
// its answer is not there. (Of a future it is there up to 50 ms before, or a twentieth of a shorter
// time.) A node that says nothing is waited for 80 ms longer, on a busy host up to a second. Zero is
// now: the call takes what is at its node already and waits for nobody. Below zero is zero.
//
// This one never passes: wait until the answer is there, however long that takes.
inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

// Of calls that have little to be told but how long they may take.
struct CallOptions {
  // Of those that wait for objects (Get, GetMany, GetInto, Open, WaitExists, WaitGone): the caller knows that
  // somebody owned the id (Client::Own) before this call. If the object does not exist and nobody
  // owns it, the answer is `deleted`, however long ago that was: nobody waits for what will never be
  // there. Just after the directory was started again this takes until its owners had time to come
  // back (DirectoryConfig::orphan_grace and two seconds). The other calls don't look at it.
  bool only_if_owned = false;
  // Of an Own: as in PutOptions. That of the last Own or owned Put of an id counts.
  std::optional<std::chrono::milliseconds> grace = {};
  std::chrono::milliseconds timeout = kForever;  // how long the call may take
  // When it is asked to stop, a call that waits ends at once and answers `cancelled`. What returns a
  // Future does not look at it: the Future has Cancel, and its Wait takes a token.
  std::stop_token stop = {};
};

// Of a Put.
struct PutOptions {
  ObjectId id = {};           // all zero: a random one
  std::string metadata = {};  // at most 4 KiB; what every Get gives with the object
  // Of the elements, if the bytes are an array: what a Reduce takes, and compares. A Put of numbers
  // notes it by itself, but not of std::uint8_t, bool and characters. None: it is not known.
  std::optional<DType> dtype = {};
  // This client owns the object (Client::Own) from the moment the directory accepts it. A call that
  // is refused, also with already_exists, owns nothing.
  bool owned = false;
  // How long this client owns it after its process ended without Close; zero: it ends with the
  // process. After the end of the node the directory counts it. None: DirectoryConfig::orphan_grace.
  // invalid_argument if it is above DirectoryConfig::tombstone.
  std::optional<std::chrono::milliseconds> grace = {};
  // Refused with `not_found` if nobody owns the id: the result of a task that nobody waits for any
  // more is not kept.
  bool only_if_owned = false;
  std::chrono::milliseconds timeout = kForever;  // how long the call may take
  std::stop_token stop = {};                     // as in CallOptions
};

// Of a Fail.
struct FailOptions {
  bool owned = false;                                   // as in PutOptions
  std::optional<std::chrono::milliseconds> grace = {};  // as in PutOptions
  bool only_if_owned = false;                           // as in PutOptions
  std::chrono::milliseconds timeout = kForever;         // how long the call may take
};

// Of a Create.
struct CreateOptions {
  std::string metadata = {};        // at most 4 KiB; what every Get gives with the object
  std::optional<DType> dtype = {};  // as in PutOptions
  bool owned = false;               // as in PutOptions, also if the Draft is given up after that
  std::optional<std::chrono::milliseconds> grace = {};  // as in PutOptions
  bool only_if_owned = false;                           // as in PutOptions
  std::chrono::milliseconds timeout = kForever;         // how long the call may take
  std::stop_token stop = {};                            // as in CallOptions
};

}  // namespace hoplite
