// Picture: what one look at the cluster shows of one object's broadcast. History: what became
// different from picture to picture, and who was fed by whom in the end. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <hoplite/status.h>

namespace hoplite::cli::demo {

struct Picture {
  std::map<std::string, std::string> fed_by;         // receiver -> its source at this moment
  std::map<std::string, std::uint64_t> valid_bytes;  // of everybody who has some of it

  static Picture Of(const ClusterStatus& status, const ObjectId& object);
  std::uint64_t bytes_of(const std::string& node) const;
  // Feeds somebody else at this moment.
  bool relays(const std::string& node) const;

  friend bool operator==(const Picture&, const Picture&) = default;
};

// A receiver that had a source has another one now.
struct Rerouted {
  std::string node;
  std::string before;
  std::string now;
  std::uint64_t at_bytes = 0;  // what it had when it was seen to go on
};

class History {
 public:
  // Pictures in the order of time.
  std::vector<Rerouted> Add(const Picture& picture);
  // The sources of each receiver, first to last.
  const std::map<std::string, std::vector<std::string>>& sources() const { return sources_; }

 private:
  std::map<std::string, std::vector<std::string>> sources_;
};

}  // namespace hoplite::cli::demo
