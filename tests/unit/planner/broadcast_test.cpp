// Who is granted what: the line, the tree, and the preferences between sources.
#include "scenario.h"

namespace hoplite::planner {
namespace {

class Broadcast : public Scenario {};

// The example of the Hoplite paper's figure 4.
TEST_F(Broadcast, FigureFourStepByStep) {
  Join("S").Join("R1").Join("R2").Join("R3");
  Put("S");
  Expect("S: accepted v1");
  Get("R1");
  Expect("R1: located v1", "R1 <- S");
  Get("R2");  // S serves one receiver: the newcomer pulls from the partial copy
  Expect("R2: located v1", "R2 <- R1");
  Done("R1");
  Get("R3");  // S is free again, and a complete copy is better than R2's
  Expect("R3: located v1", "R3 <- S");
}

TEST_F(Broadcast, FigureFourWhenTheMiddleDies) {
  Join("S").Join("R1").Join("R2").Join("R3");
  Put("S").Get("R1").Get("R2");
  Ignore();
  Progress("R2", 20).Lose("R1");
  Expect("R2 <- S moved");  // resumes at its own offset
  Get("R3");
  Expect("R3: located v1", "R3 <- R2");
}

}  // namespace
}  // namespace hoplite::planner
