// What the driver and its workers tell each other, over a socket for each worker. Only words go
// through it, no object's bytes: those are Hoplite's business.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <hoplite/object_id.h>

namespace tasks {

// The call of a function by its name. Its result is an object that is named before it exists.
struct Task {
  std::string function = {};  // one word
  std::string text = {};
  std::vector<hoplite::ObjectId> arguments = {};
  hoplite::ObjectId result = {};
};

enum class Verb : char {
  kReady = 'y',   // to the driver: I take tasks
  kRun = 'r',     // to the worker: run this one
  kSubmit = 's',  // to the driver: here is another one
  kBecome = 'b',  // to the driver: this one makes the result of the one that I ran; I am free
  kDone = 'd',    // to the driver: the result exists; I am free
};

struct Message {
  Verb verb = Verb::kReady;
  Task task = {};
};

// That the other process has ended is found by Receive alone.
void Send(int socket, const Message& message);
// Waits for the next one; empty: the other process has ended.
std::optional<Message> Receive(int socket);

}  // namespace tasks
