#include "client/channel/kept_versions.h"

#include <algorithm>
#include <iterator>

namespace hoplite::client {

KeptVersions::Objects KeptVersions::OnlyIn(std::size_t place) const {
  Objects only;
  std::ranges::copy_if(versions_[place], std::back_inserter(only), [&](const ObjectId& object) {
    return std::ranges::count_if(versions_, [&](const Objects& version) {
             return std::ranges::find(version, object) != version.end();
           }) == 1;
  });
  return only;
}

KeptVersions::Objects KeptVersions::Leaving() const {
  return may_hold() && versions_.size() >= keep_ ? OnlyIn(0) : Objects();
}

KeptVersions::Objects KeptVersions::Shrink(const std::function<bool(const ObjectId&)>& fetched) {
  Objects gone;
  while (versions_.size() > keep_) {
    const std::size_t place = may_hold() && std::ranges::any_of(versions_.front(), fetched) ? 1 : 0;
    std::ranges::move(OnlyIn(place), std::back_inserter(gone));
    versions_.erase(versions_.begin() + static_cast<std::ptrdiff_t>(place));
  }
  return gone;
}

KeptVersions::Objects KeptVersions::TakeAll() {
  Objects all;
  for (const Objects& version : std::exchange(versions_, {})) {
    all.insert(all.end(), version.begin(), version.end());
  }
  return all;
}

}  // namespace hoplite::client
