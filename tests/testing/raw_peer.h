// A peer made of a plain blocking socket that can say anything, to test what a node withstands.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/frame.h"

namespace hoplite::testing {

class RawPeer {
 public:
  explicit RawPeer(int socket) : socket_(socket) {}
  static RawPeer Connect(const std::string& address);
  ~RawPeer();
  RawPeer(RawPeer&& other) noexcept;
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  void Send(std::span<const std::byte> bytes);
  void Send(const wire::Frame& frame) { Send(wire::Encode(frame)); }
  // None at the end of the stream, after an error, or when nothing whole came in time.
  std::optional<wire::Frame> Next(std::chrono::milliseconds bound = kBound);
  std::optional<std::vector<std::byte>> Receive(std::size_t bytes,
                                                std::chrono::milliseconds bound = kBound);
  // Reads and forgets until the other side has closed; false if it doesn't in time.
  bool Closed(std::chrono::milliseconds bound = kBound);

  static constexpr std::chrono::milliseconds kBound{10000};

 private:
  int socket_;
};

// A port of our own that real nodes are sent to.
class RawListener {
 public:
  RawListener();
  ~RawListener();
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;

  const std::string& address() const { return address_; }
  RawPeer Accept();

 private:
  int socket_;
  std::string address_;
};

}  // namespace hoplite::testing
