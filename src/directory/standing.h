// Standing: whether this member of a shard holds it, as whoever answers for the shard asks. The seam
// between those and what decides it: promises of the members (Tenure), or the place in the list.
// Used on the service's loop.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "protocol/views.h"

namespace hoplite::directory {

class Standing {
 public:
  virtual ~Standing() = default;
  // False: it stands by, and answers with the members only.
  virtual bool holds() const = 0;
  // Empty: it is the only one.
  virtual protocol::ShardMembers members() const = 0;
};

// The preferred member holds, for good; the others stand by.
class FixedStanding final : public Standing {
 public:
  // `members`, in their order, has `own`; or there are none beside it.
  FixedStanding(std::string own, std::vector<std::string> members)
      : own_(std::move(own)), members_(std::move(members)) {}

  bool holds() const override { return members_.size() < 2 || members_.front() == own_; }
  protocol::ShardMembers members() const override {
    if (members_.size() < 2) return {};
    return {.addresses = members_, .holder = members_.front()};
  }

 private:
  const std::string own_;
  const std::vector<std::string> members_;
};

}  // namespace hoplite::directory
