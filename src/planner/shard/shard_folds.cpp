#include "planner/shard/shard_folds.h"

#include <memory>
#include <span>

#include <hoplite/reduce.h>

#include "planner/reduce/reduce_planner.h"
#include "planner/reduce/source_kind.h"
#include "planner/words/folder.h"
#include "protocol/failure.h"

namespace hoplite::planner {
namespace {

// Whether objects of so many bytes have whole elements to fold, and all that is to be folded.
bool HasElements(const Fold& fold, DType dtype, std::uint64_t bytes) {
  const std::uint64_t folded = fold.folded_bytes == 0 ? bytes : fold.folded_bytes;
  return folded <= bytes && folded % SizeOf(dtype) == 0;
}

}  // namespace

bool ShardFolds::Make(const ObjectId& id, ObjectRecord& record, const ShardFold& what) {
  Fold fold = what.fold;
  const std::vector<Source> sources = SourcesOf(what, fold.dtype);
  if (sources.empty()) return false;
  const ObjectRecord& first = *sources.front().record;
  const std::string metadata = TargetMetadata(fold, what.metadata, first.metadata.OrEmpty());
  if (!versions_.HasRoomFor(record, metadata, first.inline_bytes->size())) return false;
  for (const Source& source : sources) record.reduction->used.push_back(source.id);
  record.reduction->withheld = sources.size() < what.sources.size();
  Commit(id, record, metadata, Folded(sources, fold));
  return true;
}

std::vector<ShardFolds::Source> ShardFolds::SourcesOf(const ShardFold& what, DType& dtype) const {
  const std::size_t wanted = what.fold.sources;
  if (what.sources.size() > ShardFold::kMostSources) return {};
  const auto asked = dtype == DType{} ? std::nullopt : std::optional(dtype);
  SourceKind kind(what.fold.op, asked, what.alike);
  std::vector<Source> sources;
  for (const ObjectId& id : what.sources) {
    if (sources.size() == wanted) break;
    const ObjectRecord* record = objects_.Find(id);
    if (record == nullptr || !record->exists() || record->withheld()) continue;
    const std::string& metadata = record->metadata.OrEmpty();
    if (FailureIn(metadata)) continue;
    if (record->inline_bytes == nullptr || !kind.Hear(id, metadata)) return {};
    dtype = *kind.dtype();
    sources.push_back({id, record});
    const std::uint64_t size = sources.front().record->inline_bytes->size();
    const bool fits = record->inline_bytes->size() == size && HasElements(what.fold, dtype, size) &&
                      size * wanted <= ShardFold::kMostBytes;
    if (!fits) return {};
  }
  return sources.size() == wanted ? sources : std::vector<Source>();
}

InlineBytes ShardFolds::Folded(const std::vector<Source>& sources, const Fold& fold) {
  const Folder folder(fold);
  auto sum = std::make_shared<std::string>(*sources.front().record->inline_bytes);
  const auto out = std::as_writable_bytes(std::span(*sum));
  for (const Source& source : std::span(sources).subspan(1)) {
    folder.Fold(0, out, out, std::as_bytes(std::span(*source.record->inline_bytes)));
  }
  folder.Finish(0, out);
  folded_bytes_ += sum->size() * sources.size();
  return sum;
}

// Like a Put of its coordinator's, which is the first that has it.
void ShardFolds::Commit(const ObjectId& id, ObjectRecord& record, const std::string& metadata,
                        const InlineBytes& bytes) {
  ReductionRecord& reduction = *record.reduction;
  const NodeId coordinator = reduction.coordinator;
  versions_.Start(id, record, stamps_.NextVersion(), Layout::For(bytes->size()), metadata,
                  coordinator);
  versions_.KeepBytes(record, bytes);
  reduction.committed = record.version;
  post_.Notify(id, record, kNoNode, LocationKind::kInline);
  Tell(id, record);
  post_.Notify(id, record, coordinator, LocationKind::kComplete);
  if (reduction.owner.owned) {
    ownership_.Accepted(coordinator, id, reduction.owner, 0, reduction.vouched);
  }
  if (ownership_.WasOwned(id)) post_.Send(coordinator, EverOwned{id});
}

void ShardFolds::Tell(const ObjectId& id, ObjectRecord& record) {
  const ReductionRecord& reduction = *record.reduction;
  ReduceCommitted committed{.object = id,
                            .version = reduction.committed,
                            .request = reduction.request,
                            .used = reduction.used};
  if (record.inline_bytes != nullptr && record.version == reduction.committed) {
    committed.bytes = record.inline_bytes;
    committed.metadata = record.metadata.OrEmpty();
    // From now on it has a copy, whatever became of one that its node heard of in an earlier session.
    Versions::AddMaker(record, reduction.coordinator, true, stamps_.NextRequest());
    record.table.Edit(reduction.coordinator, [this, &reduction](Copy& copy) {
      copy.live = nodes_.alive(reduction.coordinator);
    });
    inline_pace_.Left(committed.bytes->size(), clock_.now(), nodes_.link());
  }
  post_.Send(reduction.coordinator, std::move(committed));
}

}  // namespace hoplite::planner
