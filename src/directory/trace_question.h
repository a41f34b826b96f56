// TraceQuestion: asks one shard what it decided lately, over a connection of its own. On the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "base/time.h"
#include "net/security.h"
#include "wire/trace.h"

namespace hoplite::directory {

class QuestionLine;

class TraceQuestion {
 public:
  using Done = std::function<void(Result<std::vector<wire::TraceEntry>>)>;

  // `done` runs once, within the timeout, unless this is destroyed before.
  TraceQuestion(asio::io_context& loop, std::string address, net::SecurityPtr security,
                Duration timeout, Done done);
  ~TraceQuestion();
  TraceQuestion(const TraceQuestion&) = delete;
  TraceQuestion& operator=(const TraceQuestion&) = delete;

 private:
  const std::shared_ptr<QuestionLine> line_;
};

}  // namespace hoplite::directory
