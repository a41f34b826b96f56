// A program that uses the library as a user would, at moments that the comparison names: one
// process on each host, which is the directory or a node.
//
//   directory ADDRESS                        {"address":HOST:PORT}
//   node NAME ADDRESS DIRECTORY MEMORY       {"address":HOST:PORT}
//   prepare BYTES                            {}: makes what puts store, which takes a while
//   put NAME COUNT BYTES MOMENT STEP         {"begins":[...],"ends":[...]}
//   get NAME COUNT BYTES MOMENT STEP         the same
//   wait NAME SECONDS                        {}: a get of what never comes, for so long
//   delete NAME COUNT                        {}
//
// Objects are NAME-0, NAME-1, …; number i is put or got at MOMENT + i * STEP, or at once when that
// has passed. What a get brings is compared with what a put stores, after the clock was read.
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hoplite/hoplite.h>

#include "agent.h"

namespace {

using hoplite::bench::JsonArray;
using hoplite::bench::Nanoseconds;
using hoplite::bench::Now;
using hoplite::bench::SleepUntil;
using hoplite::bench::Word;

constexpr std::chrono::seconds kTimeout{100};

template <typename T>
T Value(hoplite::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().ToString());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::string Address(const std::string& address) { return "\"address\":\"" + address + "\""; }

// The objects NAME-0, NAME-1, … and when each is used.
struct Series {
  explicit Series(std::istream& words) : name(Word<std::string>(words)) {
    count = Word<std::size_t>(words);
    bytes = Word<std::size_t>(words);
    moment = Word<Nanoseconds>(words);
    step = Word<Nanoseconds>(words);
  }

  hoplite::ObjectId Id(std::size_t index) const {
    return hoplite::ObjectId::FromName(name + "-" + std::to_string(index));
  }

  // Calls use(id) for each at its moment; use() gives the moment at which it was done.
  template <typename Use>
  std::string Run(Use use) const {
    std::vector<Nanoseconds> begins;
    std::vector<Nanoseconds> ends;
    for (std::size_t i = 0; i < count; ++i) {
      SleepUntil(moment + static_cast<Nanoseconds>(i) * step);
      begins.push_back(Now());
      ends.push_back(use(Id(i)));
    }
    return "\"begins\":" + JsonArray(begins) + ",\"ends\":" + JsonArray(ends);
  }

  std::string name;
  std::size_t count;
  std::size_t bytes;
  Nanoseconds moment;
  Nanoseconds step;
};

class Driver {
 public:
  std::string Directory(std::istream& words) {
    hoplite::DirectoryConfig config;
    config.listen = Word<std::string>(words);
    config.recovery_window = std::chrono::milliseconds(0);  // each testbed is a new cluster
    directory_ = Value(hoplite::Directory::Start(config));
    return Address(directory_->address());
  }

  std::string Node(std::istream& words) {
    hoplite::NodeConfig config;
    config.name = Word<std::string>(words);
    config.listen = Word<std::string>(words);
    config.directory = {Word<std::string>(words)};
    config.memory_bytes = Word<std::uint64_t>(words);
    node_ = Value(hoplite::Node::Start(config));
    client_.emplace(node_->client());
    return Address(node_->address());
  }

  std::string Prepare(std::istream& words) {
    Source(Word<std::size_t>(words));
    return "";
  }

  std::string Put(std::istream& words) {
    const Series series(words);
    const auto source = Source(series.bytes);
    return series.Run([&](const hoplite::ObjectId& id) {
      Value(client().Put(source, {.id = id, .timeout = kTimeout}));
      return Now();
    });
  }

  std::string Get(std::istream& words) {
    const Series series(words);
    const auto source = Source(series.bytes);
    return series.Run([&](const hoplite::ObjectId& id) {
      const auto view = Value(client().Get(id, {.timeout = kTimeout}));
      const Nanoseconds end = Now();
      if (view.size() != source.size() ||
          std::memcmp(view.bytes().data(), source.data(), source.size()) != 0)
        throw std::runtime_error("wrong bytes");
      return end;
    });
  }

  std::string Wait(std::istream& words) {
    const auto id = hoplite::ObjectId::FromName(Word<std::string>(words));
    const auto view = client().Get(id, {.timeout = std::chrono::seconds(Word<int>(words))});
    if (view || view.error().code != hoplite::ErrorCode::kTimeout)
      throw std::runtime_error("the get did not end by its timeout");
    return "";
  }

  std::string Delete(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto count = Word<std::size_t>(words);
    for (std::size_t i = 0; i < count; ++i)
      Value(client().Delete(hoplite::ObjectId::FromName(name + "-" + std::to_string(i)),
                            {.timeout = kTimeout}));
    return "";
  }

 private:
  hoplite::Client& client() {
    if (!client_) throw std::runtime_error("this process is no node");
    return *client_;
  }

  // The bytes of every object of this size, the same in all processes; made once.
  std::span<const std::byte> Source(std::size_t bytes) {
    for (std::size_t i = source_.size(); i < bytes; ++i)
      source_.push_back(static_cast<std::byte>(i * 2654435761u >> 13));
    return std::span(source_).first(bytes);
  }

  std::unique_ptr<hoplite::Directory> directory_;
  std::unique_ptr<hoplite::Node> node_;
  std::optional<hoplite::Client> client_;
  std::vector<std::byte> source_;
};

}  // namespace

int main() {
  Driver driver;
  const auto bind = [&driver](std::string (Driver::*method)(std::istream&)) {
    return [&driver, method](std::istream& words) { return (driver.*method)(words); };
  };
  return hoplite::bench::RunAgent({{"directory", bind(&Driver::Directory)},
                                   {"node", bind(&Driver::Node)},
                                   {"prepare", bind(&Driver::Prepare)},
                                   {"put", bind(&Driver::Put)},
                                   {"get", bind(&Driver::Get)},
                                   {"wait", bind(&Driver::Wait)},
                                   {"delete", bind(&Driver::Delete)}});
}
