// Subscription: the changes of an object's locations, in order. Where they are so many that the
// node can't be told of all in time, a later change of one location replaces an earlier one.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>

#include <hoplite/export.h>
#include <hoplite/options.h>
#include <hoplite/result.h>

namespace hoplite {

// What has changed.
enum class LocationKind : std::uint8_t {
  kPartial = 1,      // the node has begun to have a copy
  kComplete = 2,     // the node has all of it
  kGone = 3,         // the node no longer has it
  kInDirectory = 4,  // the directory holds the bytes; no node is named
};

HOPLITE_EXPORT std::ostream& operator<<(std::ostream& out, LocationKind kind);  // "complete"

// One change of an object's locations.
struct LocationChange {
  LocationKind kind = LocationKind::kPartial;  // what the node has from now on
  std::string node;                            // its name; empty: the directory
  std::string version;                         // which attempt to create it, "incarnation.sequence"
};

// Ends when destroyed. Any thread; a waiting thread sleeps.
class HOPLITE_EXPORT Subscription {
 public:
  Subscription();  // empty: Next answers invalid_argument
  Subscription(Subscription&&) noexcept;
  Subscription& operator=(Subscription&&) noexcept;
  ~Subscription();

  // The next change, waiting for one if there is none.
  //   timeout             nothing changed
  //   resource_exhausted  more than 4096 changes were not fetched: the subscription has ended
  Result<LocationChange> Next(std::chrono::milliseconds timeout = kForever);

 private:
  friend class Client;
  class Impl;
  explicit Subscription(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoplite
