// Directory: one shard of the directory in this process.
#pragma once

#include <memory>
#include <string>

#include <hoplite/config.h>
#include <hoplite/export.h>
#include <hoplite/result.h>

namespace hoplite {

// Knows which nodes hold which objects, and who waits for them. Its state is soft: after a restart
// the nodes tell it again. All calls may come from any thread.
class HOPLITE_EXPORT Directory {
 public:
  // Listens, and collects for a moment what the nodes hold (DirectoryConfig::recovery_window).
  //   invalid_argument    a field of the configuration is wrong: says which; or the state_file is
  //                       another shard's, damaged, or can't be written
  //   unavailable         the address or the state_file is in use
  //   resource_exhausted  there is no room for the state_file
  static Result<std::unique_ptr<Directory>> Start(const DirectoryConfig& config);
  ~Directory();  // stops; nothing in a forked child, whose parent's it is
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::string address() const;  // HOST:PORT really bound
  // Idempotent: a second thread waits for the first. Nothing in a forked child.
  void Stop();

 private:
  struct State;
  explicit Directory(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hoplite
