#include "planner/shard/passes.h"

#include <algorithm>

#include "planner/copies/broadcast_cost.h"
#include "planner/serving/forest.h"

namespace hoplite::planner {
namespace {

// Nothing else goes over the links of those who want it. Of several objects lines share the links
// best, and the readers of a sum fold it, too.
bool HasLinksAlone(const ObjectRecord& record) { return !record.joint && !record.reduction; }

// So many pairs of a receiver and a holder are compared once while receivers keep a source.
constexpr std::int64_t kPairsInTime = 600 * 600;

// Where very many wait in vain, each report would make a pass over all of them. A look takes a tenth
// of this, so they cost a tenth of the shard's time.
constexpr std::int64_t kFewLooks = 256;
constexpr Duration kPerLook = std::chrono::microseconds(1);
constexpr Duration kLongestInVain = std::chrono::milliseconds(50);

// Somebody waits for another source than it had.
bool SomebodyLost(const CopyTable& table) {
  for (std::size_t group = 0; group < table.group_count(); ++group) {
    for (const ParkedKey& key : table.parked(group)) {
      if (key.waits) break;
      if (!table.Find(key.node)->leaf) return true;
    }
  }
  return false;
}

}  // namespace

void Passes::Run(const ObjectId& id, ObjectRecord& record) {
  const bool flows =
      !record.table.somebody_parked() && record.table.starved().empty() && !record.by_arrival;
  const bool rests = flows && !record.slow_relays.OrEmpty().busy();
  const Time in_vain_until = record.samples.OrEmpty().in_vain_until;
  if (!rests && clock_.now() < in_vain_until) return gathering_.Insert(id, in_vain_until);
  const bool improves = ImprovesNow(record, rests);
  if (rests && !improves) return;
  const bool by_rate = RatesCount(record);
  if (rests && !by_rate) return;
  // Who of another site asks later would be a part of it, too.
  const bool may_form_forest =
      !options_.without.forest && HasLinksAlone(record) && !nodes_.HasSites() && !by_rate;
  const bool many = record.table.forest() || (may_form_forest && ManyMayCome(record));
  if (Gathers(id, record, many)) return;
  const bool knows_members = window_.KnowsMembers(nodes_);
  const bool rings =
      (record.joint || record.table.group_count() > 1) && !options_.without.gathering;
  const Duration fresh = rings ? FreshFor(record.table.layout(), LinkFor(record)) : Duration{0};
  Forest forest(record.table);
  if (may_form_forest && knows_members)
    forest.CutIfItPays(LinkFor(record), nodes_.alive_count(), options_.forest_from);
  forest.DealHomes();
  std::optional<Measured> unequal;
  if (by_rate && !record.table.forest()) {
    unequal.emplace(nodes_, record.samples.Make(), options_.keeps_source);
    if (record.slow_relays) record.slow_relays->Stop();
  }
  const PassRules rules{.now = clock_.now(),
                        .link = nodes_.link(),
                        .apart = apart_,
                        .knows_members = knows_members,
                        .kept = record.slow_relays.OrEmpty().Kept(record.table),
                        .fresh = fresh,
                        .takes_over = !options_.without.takeover,
                        .unequal = unequal};
  SourceSelector selector(record.table, stamps_, rules);
  selector.Run();
  if (selector.decisions().empty() && selector.looks() > kFewLooks) {
    record.samples.Make().in_vain_until =
        clock_.now() + std::min(selector.looks() * kPerLook, kLongestInVain);
  }
  if (record.by_arrival) record.by_arrival = selector.PutInRingOrder();
  if (many || record.table.forest()) {
    const Duration apart = SpacePasses(record.table.layout(), LinkFor(record));
    record.gathers_until = clock_.now() + apart;
  }
  if (unequal && improves) selector.Improve();
  if (record.slow_relays) {
    record.slow_relays->Act(record.table, record.samples.Make(), nodes_, selector, clock_.now());
  }
  for (const Decision& made : selector.decisions()) {
    const NodeRecord* source = nodes_.Find(made.what.source);
    post_.Send(made.what.receiver,
               Grant{id, record.version, made.grant,
                     source != nullptr ? source->info : NodeInfo{made.what.source},
                     made.what.stripes, made.what.equality_ok, made.replaces},
               made.why);
    if (made.newly_listed) post_.Notify(id, record, made.what.receiver, LocationKind::kPartial);
  }
  if (!knows_members && record.table.somebody_parked()) agenda_.AddForMembers(id);
  if (!apart_.entries().empty()) agenda_.AddForNearness(id);
}

// The wait begins when somebody asks for what is there, and ends early when nobody is left to ask.
// Who stands where in the line of one object alone makes no difference, but to who folds it; and of
// very many those who are planned together stand behind few, those who are planned one by one behind
// all before them.
bool Passes::Gathers(const ObjectId& id, ObjectRecord& record, bool many) {
  const Time now = clock_.now();
  if (record.gathers_until <= now || !record.table.whole() || options_.without.gathering)
    return false;
  const bool matters = record.joint || record.reduction || many;
  if (!matters || AllHaveAsked(record) || SomebodyLost(record.table)) {
    record.gathers_until = now;
  } else if (record.gathers_until == kNever) {
    record.gathers_until = now + GatherFor(record.table.layout(), LinkFor(record));
  }
  if (record.gathers_until > now) gathering_.Insert(id, record.gathers_until);
  return record.gathers_until > now;
}

// To look for better sources takes longer the more receivers, and holders, there are.
bool Passes::ImprovesNow(ObjectRecord& record, bool rests) const {
  if (!record.samples) return !rests;
  const std::size_t pairs = record.table.feeding(0).size() * record.table.copies().size();
  Duration apart = options_.keeps_source * pairs / kPairsInTime;
  if (rests) apart = std::max(apart, options_.keeps_source / 3);
  return record.samples->IsDue(apart, clock_.now());
}

// Of several objects, and of the parts of a reduction, no shard sees all that its links carry; but
// nobody has a reason to cross twice.
bool Passes::RatesCount(const ObjectRecord& record) const {
  if (record.table.group_count() > 1) return false;
  const bool flows = !record.table.grants().empty() || record.table.somebody_parked();
  return flows && Rates::Count(record.table, nodes_,
                               !options_.without.rates && HasLinksAlone(record), clock_.now());
}

bool Passes::ManyMayCome(const ObjectRecord& record) const {
  if (nodes_.alive_count() == 0) return false;
  return BestForest(nodes_.alive_count() - 1, record.table.layout(), LinkFor(record),
                    options_.forest_from) > 1;
}

// Who makes some of the stripes is there before it asks for the others.
bool Passes::AllHaveAsked(const ObjectRecord& record) const {
  const auto& copies = record.table.copies();
  return copies.size() >= nodes_.alive_count() && std::ranges::none_of(copies, [](const auto& at) {
           const Copy& copy = at.second;
           return copy.produces != 0 && !copy.final() && copy.wanted == 0;
         });
}

LinkModel Passes::LinkFor(const ObjectRecord& record) const {
  return SlowIfGuessed(nodes_.link(), record.joint && !nodes_.link_is_known());
}

}  // namespace hoplite::planner
