#include "planner/reduce/reduce_sources.h"

#include <algorithm>

namespace hoplite::planner {

ReduceSources::ReduceSources(const std::vector<ObjectId>& ids) : sources_(ids.size()) {
  for (SourceIndex i = 0; i < ids.size(); ++i) {
    sources_[i].id = ids[i];
    by_id_[ids[i]] = i;
  }
}

std::optional<SourceIndex> ReduceSources::Find(const ObjectId& id) const {
  const auto entry = by_id_.find(id);
  if (entry == by_id_.end()) return std::nullopt;
  return entry->second;
}

template <typename Change>
void ReduceSources::Edit(SourceIndex index, Change change) {
  Source& source = sources_[index];
  const auto out = [&] { return source.deleted && !source.taken; };
  if (source.ready) ready_.erase({source.rank, index});
  if (out()) --out_;
  change(source);
  if (source.holders.empty()) {
    source.rank = 0;
  } else if (source.rank == 0) {
    source.rank = ++ranks_;
  }
  if (out()) ++out_;
  source.ready = !source.taken && !source.deleted && FirstHolder(index) != nullptr;
  if (source.ready) ready_.insert({source.rank, index});
}

void ReduceSources::AddHolder(SourceIndex source, NodeId node, Version version,
                              const std::string& metadata, Time now) {
  now_ = std::max(now_, now);
  Edit(source, [&](Source& known) {
    known.told = true;
    known.metadata = metadata;
    known.deleted = false;
    const auto holder = std::ranges::find(known.holders, node, &SourceHolder::node);
    if (holder == known.holders.end()) {
      known.holders.push_back({node, version});
    } else if (version >= holder->version) {
      *holder = {node, version};
    }
  });
}

void ReduceSources::RemoveHolder(SourceIndex source, NodeId node) {
  Edit(source, [&](Source& known) {
    std::erase_if(known.holders, [&](const SourceHolder& holder) { return holder.node == node; });
  });
}

void ReduceSources::Suspect(SourceIndex source, NodeId node, Version version, Time until) {
  Edit(source, [&](Source& known) {
    const auto holder = std::ranges::find(known.holders, node, &SourceHolder::node);
    const bool used = holder != known.holders.end() && holder->version == version;
    if (used) holder->suspect_until = until;
  });
  suspicions_.Insert(source, until);
}

void ReduceSources::RemoveVersion(SourceIndex source, NodeId node, Version version) {
  Edit(source, [&](Source& known) {
    std::erase_if(known.holders, [&](const SourceHolder& holder) {
      return holder.node == node && holder.version <= version;
    });
  });
}

void ReduceSources::MarkDeleted(SourceIndex source) {
  Edit(source, [](Source& known) {
    known.deleted = true;
    known.holders.clear();
  });
}

void ReduceSources::Take(SourceIndex source) {
  Edit(source, [](Source& known) { known.taken = true; });
}

void ReduceSources::GiveBack(SourceIndex source) {
  Edit(source, [](Source& known) { known.taken = false; });
}

void ReduceSources::Expire(Time now) {
  now_ = std::max(now_, now);
  for (const SourceIndex source : suspicions_.Expire(now_)) Edit(source, [](Source&) {});
}

const SourceHolder* ReduceSources::FirstHolder(SourceIndex source) const {
  const auto& known = sources_[source].holders;
  const auto found =
      std::ranges::find_if(known, [&](const SourceHolder& holder) { return Usable(holder); });
  return found == known.end() ? nullptr : &*found;
}

const SourceHolder* ReduceSources::HolderAt(SourceIndex source, NodeId node) const {
  const auto& known = sources_[source].holders;
  const auto found = std::ranges::find(known, node, &SourceHolder::node);
  return found == known.end() || !Usable(*found) ? nullptr : &*found;
}

bool ReduceSources::Holds(SourceIndex source, NodeId node, Version version) const {
  return std::ranges::any_of(sources_[source].holders, [&](const SourceHolder& holder) {
    return holder.node == node && holder.version == version;
  });
}

bool ReduceSources::IsAvailable(const Source& source) const {
  return std::ranges::any_of(
      source.holders, [&](const SourceHolder& holder) { return holder.suspect_until <= now_; });
}

std::vector<SourceIndex> ReduceSources::Available() const {
  std::vector<SourceIndex> available;
  for (SourceIndex i = 0; i < sources_.size(); ++i) {
    if (IsAvailable(sources_[i])) available.push_back(i);
  }
  std::ranges::sort(available, {}, [&](SourceIndex i) { return sources_[i].rank; });
  return available;
}

std::size_t ReduceSources::Kept() const {
  const auto is_kept = [](const Source& source) {
    return std::ranges::find(source.holders, kNoNode, &SourceHolder::node) != source.holders.end();
  };
  return static_cast<std::size_t>(std::ranges::count_if(sources_, is_kept));
}

std::vector<SourceIndex> ReduceSources::Missing() const {
  std::vector<SourceIndex> missing;
  for (SourceIndex i = 0; i < sources_.size(); ++i) {
    if (!sources_[i].taken && !IsAvailable(sources_[i])) missing.push_back(i);
  }
  return missing;
}

const std::string* ReduceSources::FirstMetadata() const {
  const auto first = std::ranges::find_if(sources_, &Source::told);
  return first == sources_.end() ? nullptr : &first->metadata;
}

}  // namespace hoplite::planner
