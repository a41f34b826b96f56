// A test that runs over both ways of attaching to a node: a worker's socket, and the node's own
// process.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "testing/local_node.h"

namespace hoplite::test {

enum class Way { kWorker, kInProcess };

class AttachedTest : public testing::TestWithParam<Way> {
 protected:
  Client Attach() { return GetParam() == Way::kWorker ? node_.Worker() : node_.InProcess(); }

  LocalNode node_;
  Client client_ = Attach();
};

#define HOPLITE_TEST_BOTH_WAYS(suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(                                                              \
      Ways, suite, testing::Values(Way::kWorker, Way::kInProcess), [](const auto& way) { \
        return std::string(way.param == Way::kWorker ? "Worker" : "InProcess");          \
      })

}  // namespace hoplite::test
