#include <utility>

#include <hoplite/directory.h>

#include "base/own_process.h"
#include "base/try.h"
#include "directory/directory_server.h"

namespace hoplite {

struct Directory::State {
  std::unique_ptr<directory::DirectoryServer> server;
  OwnProcess process;
};

Result<std::unique_ptr<Directory>> Directory::Start(const DirectoryConfig& config) {
  TRY_ASSIGN(auto server, directory::DirectoryServer::Start(config));
  return std::unique_ptr<Directory>(new Directory(std::make_unique<State>(std::move(server))));
}

Directory::Directory(std::unique_ptr<State> state) : state_(std::move(state)) {}
Directory::~Directory() {
  if (!state_->process.here()) static_cast<void>(state_.release());  // the parent's, with threads
}

std::string Directory::address() const { return state_->server->address(); }
void Directory::Stop() {
  if (state_->process.here()) state_->server->Stop();
}

}  // namespace hoplite
