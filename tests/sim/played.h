// Played: a broadcast of the planner world that breaks no property.
#pragma once

#include <gtest/gtest.h>

#include "sim/planner_world/broadcast.h"

namespace hoplite::sim {

// The report; a property that is broken fails the test, with the command that plays it again.
inline Report Played(const Options& options) {
  const Result<Report> report = RunBroadcast(options);
  EXPECT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->violation, "") << report->replay;
  return *report;
}

}  // namespace hoplite::sim
