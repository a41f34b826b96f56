// SimDisk: a disk in virtual time, with a rate, a room, errors and silence.
//
// It answers one request after the other. Bytes are taken from memory when a write ends, and come
// there when a read does, so memory that is given away too early shows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/virtual_time.h"
#include "sim/kit/random.h"
#include "store/disk.h"

namespace hoplite::node_world {

struct DiskOptions {
  std::uint64_t bytes_per_second = 50'000'000;
  std::uint64_t room_bytes = 0;  // of the file system: writes beyond it fail
  // Of a hundred requests so many fail, or are answered late, until the faults end.
  std::uint32_t fail_percent = 0;
  std::uint32_t silent_percent = 0;
};

class SimDisk final : public store::Disk, public std::enable_shared_from_this<SimDisk> {
 public:
  SimDisk(VirtualTime& time, const DiskOptions& options, std::uint64_t seed);

  const std::string& folder() const override { return folder_; }
  void Write(std::uint64_t at, Pieces pieces, Done done) override;
  void Read(std::uint64_t at, std::span<std::byte> into, Done done) override;
  void Discard(store::Extent range, Done done) override;
  Time moved_at() const override { return moved_at_; }

  // Nothing fails any more; who waits for a late answer gets it now.
  void EndFaults();
  // Its process is gone: nothing is answered any more.
  void Close();
  std::uint64_t reads() const { return reads_; }
  std::uint64_t writes() const { return writes_; }

 private:
  struct Request {
    std::function<void()> run;
    bool silent = false;  // until the silence ends
  };

  // Runs `request` when its turn has come and its bytes have moved.
  void After(std::uint64_t bytes, std::function<void()> request);
  void Plan(std::uint64_t number, Time when);
  bool Fails();

  VirtualTime& time_;
  const std::string folder_ = "a simulated disk";
  DiskOptions options_;
  sim::Random random_;
  std::vector<std::byte> bytes_;
  Time busy_until_{};
  Time moved_at_ = Time::min();
  std::uint64_t reads_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t numbered_ = 0;
  std::map<std::uint64_t, Request> requests_;  // that are not answered
  bool closed_ = false;
};

}  // namespace hoplite::node_world
