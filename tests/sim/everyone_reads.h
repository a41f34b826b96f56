// Reductions in the planner world whose target is read by everybody who has a source.
#pragma once

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/planner_world/reduce.h"

namespace hoplite::sim {

inline Options Allreduce(std::uint32_t nodes, std::uint64_t size = 16_MiB) {
  Options options;
  options.nodes = nodes;
  options.size_bytes = size;
  options.reduce.emplace();
  options.stripes = 16;
  options.reduce->everyone_gets = options.reduce->everyone_reads = true;
  return options;
}

inline Report Finished(const Options& options) {
  const Result<Report> report = RunReduce(options);
  EXPECT_TRUE(report) << report.error().ToString();
  if (!report) return {};
  EXPECT_EQ(report->violation, "") << report->replay;
  return *report;
}

// The property that is broken with the fault, and not without it.
inline std::string Noticed(Options options, PlantedFault fault) {
  EXPECT_EQ(Finished(options).violation, "");
  options.fault = fault;
  const Result<Report> report = RunReduce(options);
  EXPECT_TRUE(report);
  return report ? report->violation : "";
}

}  // namespace hoplite::sim
