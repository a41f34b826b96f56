// Broadcast: drives one broadcast over a cluster of processes to its end and disturbs it: kills a
// node that is passing bytes on, and lets another join late.
//
// Decides: whom to kill and when, when the latecomer comes. Is told: pictures of the directory,
// ends of receivers. One thread, the main one (it starts a process).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include <hoplite/client.h>

#include "base/clock.h"
#include "cli/demo/picture.h"
#include "cli/demo/receiver.h"
#include "cli/demo/screen.h"
#include "cli/demo/subject.h"
#include "cli/process_cluster.h"
#include "cli/stop_signal.h"

namespace hoplite::cli::demo {

class Broadcast {
 public:
  struct Kill {
    std::string node;  // empty: nobody yet
    double seconds = 0;
    std::uint64_t had_bytes = 0;
    std::vector<std::string> orphans;  // whom it fed
  };

  // The object lies complete at the cluster's first node already.
  Broadcast(ProcessCluster& cluster, const Subject& subject, const ObjectId& object,
            Screen& screen);

  // Runs until every receiver has its bytes or an error. `cancelled` if the user wanted to stop.
  Result<void> Run(const StopSignal& stop);

  const std::deque<Receiver>& receivers() const { return receivers_; }
  const History& history() const { return history_; }
  const std::vector<Rerouted>& rerouted() const { return rerouted_; }
  const Kill& kill() const { return kill_; }
  const std::string& latecomer() const { return latecomer_; }
  double seconds_at(Time time) const { return ToSeconds(time - start_); }

 private:
  Result<void> StartReceiver(const ProcessCluster::Node& node);
  Result<void> LookAndAct();
  void Tell(const Picture& picture);
  void Show(const Picture& picture);
  std::vector<std::string> Bars(const Picture& picture) const;
  std::vector<std::string> Tree(const Picture& picture) const;
  void MaybeKill(const Picture& picture);
  Result<void> MaybeAddLatecomer(const Picture& picture);
  // How suitable a node is to be killed now; 0: not at all.
  int Suitability(const std::string& node, const Picture& picture) const;
  double ShareOf(const std::string& node, const Picture& picture) const;
  bool finished() const;
  double now() const { return seconds_at(Now()); }

  ProcessCluster& cluster_;
  const Subject& subject_;
  const ObjectId object_;
  Screen& screen_;
  const std::string producer_;
  Time start_;
  Time deadline_;
  Time next_line_;  // when the next line of progress is said, where nobody sees Show
  std::deque<Receiver> receivers_;
  History history_;
  Picture last_;
  std::vector<Rerouted> rerouted_;
  Kill kill_;
  std::string latecomer_;
};

}  // namespace hoplite::cli::demo
