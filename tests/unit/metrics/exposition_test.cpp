#include "metrics/exposition.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::metrics {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Exposition, CountersAndGaugesHaveTheirHelpTypeAndValue) {
  EXPECT_EQ(ToText({CounterOf("bytes_total", "Bytes", 3), GaugeOf("nodes", "Nodes", 0)}),
            "# HELP bytes_total Bytes\n# TYPE bytes_total counter\nbytes_total 3\n"
            "# HELP nodes Nodes\n# TYPE nodes gauge\nnodes 0\n");
}

TEST(Exposition, LargeNumbersKeepEveryDigit) {
  EXPECT_THAT(ToText({CounterOf("bytes_total", "Bytes", 1'099'511'627'777)}),
              HasSubstr("\nbytes_total 1099511627777\n"));
}

TEST(Exposition, SamplesDifferByTheirLabel) {
  const Metric metric{
      "memory", "Memory", MetricKind::kGauge, "kind", {{"free", 5}, {"with \"quotes\"\n", 6}}};
  EXPECT_EQ(ToText({metric}),
            "# HELP memory Memory\n# TYPE memory gauge\nmemory{kind=\"free\"} 5\n"
            "memory{kind=\"with \\\"quotes\\\"\\n\"} 6\n");
}

TEST(Exposition, EachBucketOfAHistogramHasThoseBelowIt) {
  LatencyHistogram histogram;
  histogram.Add(milliseconds(1));
  histogram.Add(milliseconds(2));
  histogram.Add(std::chrono::hours(1));
  const std::string text = ToText({HistogramOf("wait_seconds", "Waits", histogram)});
  EXPECT_THAT(text, HasSubstr("# TYPE wait_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("\nwait_seconds_count 3\nwait_seconds_sum 3600.003"));
  EXPECT_THAT(text, HasSubstr("\nwait_seconds_bucket{le=\"0.0005\"} 0\n"
                              "wait_seconds_bucket{le=\"0.001\"} 1\n"
                              "wait_seconds_bucket{le=\"0.0025\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("\nwait_seconds_bucket{le=\"60\"} 2\n"
                              "wait_seconds_bucket{le=\"+Inf\"} 3\n"));
}

}  // namespace
}  // namespace hoplite::metrics
