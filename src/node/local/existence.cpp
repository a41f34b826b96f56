#include "node/local/existence.h"

namespace hoplite::node {

Existence::Existence(Operations& operations, std::vector<ObjectId> objects, Call& call)
    : operations_(operations), call_(call), watched_(objects.size()) {
  for (std::size_t place = 0; place < objects.size(); ++place) {
    watched_[place].object = objects[place];
    Watch(watched_[place]);
  }
}

void Existence::Watch(Watched& watched) {
  watched.watch = operations_.Watch(
      watched.object,
      {
          .on_location =
              [this, &watched](const protocol::Location& location) {
                const bool complete = location.kind == protocol::LocationKind::kComplete ||
                                      location.kind == protocol::LocationKind::kInline;
                watched.failed &= location.kind == protocol::LocationKind::kGone;
                watched.places.erase(location.node);
                if (complete) {
                  watched.places.insert(location.node);
                  watched.gone = watched.lost = false;
                }
                Look(watched);
              },
          .on_deleted =
              [this, &watched] {
                watched.places.clear();
                watched.gone = true;
                Look(watched);
                call_.changed.Notify();
              },
          .on_failed =
              [this, &watched](const Error& /*why*/) {
                watched.failed = true;
                Look(watched);
              },
          .on_lost =
              [this, &watched] {
                watched.lost = true;
                call_.changed.Notify();
              },
          .on_forgotten =
              [this, &watched](NodeId node) {
                watched.places.erase(node);
                Look(watched);
              },
      },
      call_.only_if_owned);
  Look(watched);
}

void Existence::Look(Watched& watched) {
  const store::CopyPtr here = operations_.store().Find(watched.object);
  const bool exists = watched.failed || !watched.places.empty() ||
                      (here && here->state() == store::CopyState::kFinal);
  if (exists == watched.exists) return;
  watched.exists = exists;
  count_ += exists ? 1 : -1;
  call_.changed.Notify();
}

std::optional<ObjectId> Existence::Missing(std::size_t count) const {
  std::optional<ObjectId> gone;
  std::size_t left = watched_.size();
  for (const Watched& watched : watched_) {
    if (watched.exists || !watched.gone) continue;
    if (!gone) gone = watched.object;
    --left;
  }
  return left < count ? gone : std::nullopt;
}

std::vector<std::uint32_t> Existence::Gone() const {
  std::vector<std::uint32_t> places;
  for (std::size_t place = 0; place < watched_.size(); ++place) {
    const Watched& watched = watched_[place];
    if (watched.gone || (watched.lost && !watched.exists)) {
      places.push_back(static_cast<std::uint32_t>(place));
    }
  }
  return places;
}

std::vector<std::uint32_t> Existence::Existing() const {
  std::vector<std::uint32_t> places;
  for (std::size_t place = 0; place < watched_.size(); ++place) {
    if (watched_[place].exists) places.push_back(static_cast<std::uint32_t>(place));
  }
  return places;
}

}  // namespace hoplite::node
