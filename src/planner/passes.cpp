#include "planner/passes.h"

namespace hoplite::planner {

void Passes::Run(const ObjectId& id, ObjectRecord& record) {
  const bool flows = record.table.parked().empty() && record.table.starved().empty();
  if (flows && !record.slow_relays.OrEmpty().busy()) return;
  const bool knows_members = window_.KnowsMembers(nodes_);
  const PassRules rules{clock_.now(), nodes_.link(), apart_, knows_members};
  SourceSelector selector(record.table, stamps_, rules);
  selector.Run();
  if (record.slow_relays) record.slow_relays->Act(record.table, selector, clock_.now());
  for (const Decision& made : selector.decisions()) {
    const NodeRecord* source = nodes_.Find(made.what.source);
    post_.Send(made.what.receiver,
               Grant{id, record.version, made.grant,
                     source != nullptr ? source->info : NodeInfo{made.what.source},
                     made.what.stripes, made.what.equality_ok, made.replaces});
    if (made.newly_listed) post_.Notify(id, record, made.what.receiver, LocationKind::kPartial);
  }
  if (!knows_members && !record.table.parked().empty()) agenda_.AddForMembers(id);
  if (!apart_.entries().empty()) agenda_.AddForNearness(id);
}

}  // namespace hoplite::planner
