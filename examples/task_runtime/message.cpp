#include "message.h"

#include <cstdint>
#include <sstream>

#include <sys/socket.h>

namespace tasks {
namespace {

hoplite::ObjectId NextId(std::istream& words) {
  std::string digits;
  words >> digits;
  return hoplite::ObjectId::Parse(digits).value();
}

bool ReceiveAll(int socket, char* bytes, std::size_t size) {
  return ::recv(socket, bytes, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

}  // namespace

void Send(int socket, const Message& message) {
  const Task& task = message.task;
  std::ostringstream words;
  words << static_cast<char>(message.verb) << ' ' << task.result.ToHex();
  words << ' ' << task.arguments.size();
  for (const hoplite::ObjectId& argument : task.arguments) words << ' ' << argument.ToHex();
  words << ' ' << task.function << ' ' << task.text;
  const std::uint64_t size = words.view().size();
  ::send(socket, &size, sizeof size, MSG_NOSIGNAL | MSG_MORE);
  ::send(socket, words.view().data(), size, MSG_NOSIGNAL);
}

std::optional<Message> Receive(int socket) {
  std::uint64_t size = 0;
  if (!ReceiveAll(socket, reinterpret_cast<char*>(&size), sizeof size)) return {};
  std::string packet(size, '\0');
  if (!ReceiveAll(socket, packet.data(), size)) return {};
  std::istringstream words(packet);
  Message message{.verb = static_cast<Verb>(words.get())};
  message.task.result = NextId(words);
  std::size_t arguments = 0;
  words >> arguments;
  for (; arguments > 0; --arguments) message.task.arguments.push_back(NextId(words));
  std::getline(words.ignore(), message.task.function, ' ');
  std::getline(words, message.task.text, '\0');
  return message;
}

}  // namespace tasks
