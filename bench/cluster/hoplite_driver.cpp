// A program that uses the library as a user would, at moments that the comparison names: one
// process on each host, which is the directory or a node.
//
//   directory ADDRESS MILLISECONDS           {"address":HOST:PORT}; collects first for so long
//   node NAME ADDRESS DIRECTORY MEMORY [FOLDER BYTES]
//                                            {"address":HOST:PORT}; with a disk
//   prepare BYTES                            {}: makes what puts store, which takes a while
//   put NAME COUNT BYTES MOMENT STEP         {"begins":[...],"ends":[...]}
//   fill NAME COUNT BYTES                    {}: puts as well, many at a time
//   get NAME COUNT BYTES MOMENT STEP         as put
//   round_trips NAME COUNT BYTES MOMENT FIRST
//                                            COUNT, each of two objects: the first host puts one
//                                            and gets the other, the second host gets and puts
//   wait NAME SECONDS                        {}: a get of what never comes, for so long
//   delete NAME COUNT                        {}
//   link NAME                                {"rate":BYTES}: a second, as the directory believes of
//                                            that node's link
//
//   prepare_source RANK BYTES                {}: makes that host's array of float32
//   source NAME RANK BYTES MOMENT            as put: the array, as object NAME-RANK
//   reduce NAME COUNT BYTES MOMENT DEGREE WHERE
//                                            the sum of NAME-0 ... as NAME-COUNT, until it is here;
//                                            WHERE: here (root_here), anywhere, everywhere
//                                            (everyone_reads)
//   begin_reduce NAME COUNT WHERE            {}: the same sum, for whoever gets it
//   total NAME COUNT BYTES MOMENT            gets NAME-COUNT, the sum
//   collect NAME FIRST COUNT BYTES MOMENT    gets NAME-FIRST ... NAME-(COUNT - 1), all at once
//
//   follow NAME BYTES MOMENT                 reads NAME-0 while it comes, and tells how it came
//   reduce_first NAME COUNT NEEDED BYTES MOMENT WHERE
//                                            the sum of NEEDED of NAME-0 ... as NAME-COUNT,
//                                            likewise
//   follow_total NAME COUNT NEEDED BYTES MOMENT
//                                            the same sum, likewise, if another host makes it
//   feeds NAME INDEX                         {"feeds":[[FROM,TO],...]}: nodes that serve others
//                                            NAME-INDEX, or parts of the sum that it will be
//
// Objects are NAME-0, NAME-1, …; number i is put or got at MOMENT + i * STEP, or at once when that
// has passed. What arrives is compared with what it should be, after the clock was read. How an
// object came: {"begins":[...],"ends":[...],"times":[...],"bytes":[...]}, the bytes from its first
// one on that could be read at each time; fewer than before if the version was recalled.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/hoplite.h>

#include "agent.h"
#include "objects.h"

namespace {

using hoplite::bench::Arrival;
using hoplite::bench::Compare;
using hoplite::bench::Element;
using hoplite::bench::kTimeout;
using hoplite::bench::Moments;
using hoplite::bench::Nanoseconds;
using hoplite::bench::Now;
using hoplite::bench::Numbered;
using hoplite::bench::Series;
using hoplite::bench::SleepUntil;
using hoplite::bench::Value;
using hoplite::bench::Word;

constexpr std::size_t kPutsAtOnce = 256;

// Parts of a text between commas.
std::vector<std::string> Listed(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, ',');) parts.push_back(part);
  return parts;
}

std::string Address(const std::string& address) { return "\"address\":\"" + address + "\""; }

class Driver {
 public:
  std::string Directory(std::istream& words) {
    hoplite::DirectoryConfig config;
    config.security.insecure = true;  // its network is its own
    config.listen = Word<std::string>(words);
    config.recovery_window = std::chrono::milliseconds(Word<int>(words));
    directory_ = Value(hoplite::Directory::Start(config));
    return Address(directory_->address());
  }

  std::string Node(std::istream& words) {
    hoplite::NodeConfig config;
    config.name = Word<std::string>(words);
    config.security.insecure = true;
    config.listen = Word<std::string>(words);
    config.directory = Listed(Word<std::string>(words));
    config.memory_bytes = Word<std::uint64_t>(words);
    if (words >> config.spill_folder) config.spill_limit_bytes = Word<std::uint64_t>(words);
    node_ = Value(hoplite::Node::Start(config));
    client_.emplace(node_->client());
    // Once an object could have all of the memory it is reserved: that is no part of any figure.
    Value(client_->Create(hoplite::ObjectId::Random(), config.memory_bytes / 4096 * 4096));
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

  std::string Fill(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto count = Word<std::size_t>(words);
    const auto source = Source(Word<std::size_t>(words));
    std::deque<hoplite::Future<hoplite::ObjectId>> on_their_way;
    for (std::size_t i = 0; i < count; ++i) {
      if (on_their_way.size() == kPutsAtOnce) {
        Value(on_their_way.front().Wait());
        on_their_way.pop_front();
      }
      on_their_way.push_back(
          client().PutAsync(source, {.id = Numbered(name, i), .timeout = kTimeout}));
    }
    for (const auto& put : on_their_way) Value(put.Wait());
    return "";
  }

  std::string Get(std::istream& words) {
    const Series series(words);
    const auto source = Source(series.bytes);
    return series.Run([&](const hoplite::ObjectId& id) {
      const auto view = Value(client().Get(id, {.timeout = kTimeout}));
      const Nanoseconds end = Now();
      CheckBytes(view, source);
      return end;
    });
  }

  std::string RoundTrips(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto count = Word<std::size_t>(words);
    const auto source = Source(Word<std::size_t>(words));
    const auto moment = Word<Nanoseconds>(words);
    const bool first = Word<int>(words) != 0;
    std::vector<hoplite::Buffer> views(count);
    const auto put = [&](std::size_t index, std::span<const std::byte> bytes) {
      Value(client().Put(bytes, {.id = Numbered(name, index), .timeout = kTimeout}));
    };
    SleepUntil(moment);
    const Nanoseconds begin = Now();
    for (std::size_t i = 0; i < count; ++i) {
      if (first) put(2 * i, source);
      views[i] =
          Value(client().Get(Numbered(name, first ? 2 * i + 1 : 2 * i), {.timeout = kTimeout}));
      if (!first) put(2 * i + 1, views[i].bytes());
    }
    const Nanoseconds end = Now();
    for (const hoplite::Buffer& view : views) CheckBytes(view, source);
    return Moments(begin, end);
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
      Value(client().Delete(Numbered(name, i), {.timeout = kTimeout}));
    return "";
  }

  std::string Link(std::istream& words) {
    const auto name = Word<std::string>(words);
    for (const hoplite::NodeStatus& node : Value(client().Status({.timeout = kTimeout})).nodes)
      if (node.name == name) return "\"rate\":" + std::to_string(node.bytes_per_second);
    throw std::runtime_error("there is no node " + name);
  }

  std::string PrepareSource(std::istream& words) {
    const auto rank = Word<std::size_t>(words);
    Array(rank, Word<std::size_t>(words));
    return "";
  }

  std::string PutSource(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto rank = Word<std::size_t>(words);
    const std::vector<float>& array = Array(rank, Word<std::size_t>(words));
    SleepUntil(Word<Nanoseconds>(words));
    const Nanoseconds begin = Now();
    Value(client().Put(std::as_bytes(std::span(array)),
                       {.id = Numbered(name, rank), .timeout = kTimeout}));
    return Moments(begin, Now());
  }

  std::string Reduce(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto count = Word<std::size_t>(words);
    const auto bytes = Word<std::size_t>(words);
    const auto moment = Word<Nanoseconds>(words);
    hoplite::ReduceOptions options = SumOf(name, count);
    options.degree = Word<std::uint32_t>(words);
    Place(words, options);
    SleepUntil(moment);
    const Nanoseconds begin = Now();
    const hoplite::Reduction reduction = Value(client().Reduce(options));
    const auto target = client().GetAsync(options.target, {.timeout = kTimeout});
    Value(reduction.Wait());
    const hoplite::Buffer view = Value(target.Wait());
    const Nanoseconds end = Now();
    CheckTotal(view, count, bytes);
    return Moments(begin, end);
  }

  std::string BeginReduce(std::istream& words) {
    const auto name = Word<std::string>(words);
    hoplite::ReduceOptions options = SumOf(name, Word<std::size_t>(words));
    Place(words, options);
    begun_.emplace(Value(client().Reduce(options)));
    return "";
  }

  std::string Total(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto count = Word<std::size_t>(words);
    const auto bytes = Word<std::size_t>(words);
    SleepUntil(Word<Nanoseconds>(words));
    const Nanoseconds begin = Now();
    const auto view = Value(client().Get(Numbered(name, count), {.timeout = kTimeout}));
    const Nanoseconds end = Now();
    CheckTotal(view, count, bytes);
    return Moments(begin, end);
  }

  std::string Collect(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto first = Word<std::size_t>(words);
    const auto count = Word<std::size_t>(words);
    const auto bytes = Word<std::size_t>(words);
    std::vector<hoplite::ObjectId> ids;
    for (std::size_t rank = first; rank < count; ++rank) ids.push_back(Numbered(name, rank));
    SleepUntil(Word<Nanoseconds>(words));
    const Nanoseconds begin = Now();
    auto views = client().GetMany(ids, {.timeout = kTimeout});
    const Nanoseconds end = Now();
    for (std::size_t rank = first; rank < count; ++rank) {
      Compare(Value(std::move(views[rank - first])), bytes,
              [&](std::size_t place) { return Element(rank, place); });
    }
    return Moments(begin, end);
  }

  std::string Follow(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto source = Source(Word<std::size_t>(words));
    SleepUntil(Word<Nanoseconds>(words));
    Arrival arrival(client(), Numbered(name, 0));
    arrival.Follow();
    CheckBytes(arrival.Bytes(), source);
    return arrival.Answer();
  }

  std::string ReduceFirst(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto count = Word<std::size_t>(words);
    const auto needed = Word<std::size_t>(words);
    const auto bytes = Word<std::size_t>(words);
    const auto moment = Word<Nanoseconds>(words);
    hoplite::ReduceOptions options = SumOf(name, count);
    options.num_objects = needed;
    Place(words, options);
    SleepUntil(moment);
    const hoplite::Reduction reduction = Value(client().Reduce(options));
    Arrival arrival(client(), options.target);
    arrival.Follow();
    const auto used = Value(reduction.Wait()).used;
    if (used.size() != needed) throw std::runtime_error("a sum of too many or too few");
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < count; ++rank)
      if (std::ranges::find(used, options.sources[rank]) != used.end()) ranks.push_back(rank);
    Compare(arrival.Bytes(), bytes, [&](std::size_t place) {
      float sum = 0;
      for (const std::size_t rank : ranks) sum += Element(rank, place);
      return sum;
    });
    return arrival.Answer();
  }

  std::string FollowTotal(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto count = Word<std::size_t>(words);
    const auto needed = Word<std::size_t>(words);
    const auto bytes = Word<std::size_t>(words);
    SleepUntil(Word<Nanoseconds>(words));
    Arrival arrival(client(), Numbered(name, count));
    arrival.Follow();
    const hoplite::Buffer view = arrival.Bytes();
    // Which of the arrays are in it only the host that asked for it knows.
    float ranks = 0;
    if (view.size() >= sizeof ranks) std::memcpy(&ranks, view.bytes().data(), sizeof ranks);
    Compare(view, bytes, [&](std::size_t place) {
      return static_cast<float>(needed) * (Element(0, place) - Element(0, 0)) + ranks;
    });
    return arrival.Answer();
  }

  std::string Feeds(std::istream& words) {
    const auto name = Word<std::string>(words);
    const auto info =
        Value(client().Info(Numbered(name, Word<std::size_t>(words)), {.timeout = kTimeout}));
    std::string pairs;
    const auto add = [&](const std::string& from, const std::string& to) {
      pairs += (pairs.empty() ? "[\"" : ",[\"") + from + "\",\"" + to + "\"]";
    };
    for (const auto& transfer : info.transfers) add(transfer.from, transfer.to);
    for (const auto& child : info.slots)
      for (const auto& parent : info.slots)
        if (std::ranges::find(child.parents, parent.slot) != child.parents.end())
          add(child.node, parent.node);
    return "\"feeds\":[" + pairs + "]";
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

  // What this host contributes; made once for its rank and size.
  const std::vector<float>& Array(std::size_t rank, std::size_t bytes) {
    if (array_rank_ != rank || array_.size() != bytes / sizeof(float)) {
      array_.resize(bytes / sizeof(float));
      for (std::size_t i = 0; i < array_.size(); ++i) array_[i] = Element(rank, i);
      array_rank_ = rank;
    }
    return array_;
  }

  // The sum of NAME-0 ... NAME-(COUNT - 1) as NAME-COUNT.
  static hoplite::ReduceOptions SumOf(const std::string& name, std::size_t count) {
    hoplite::ReduceOptions options{.op = hoplite::Op::kSum, .dtype = hoplite::DType::kFloat32};
    for (std::size_t i = 0; i < count; ++i) options.sources.push_back(Numbered(name, i));
    options.target = Numbered(name, count);
    options.timeout = kTimeout;
    return options;
  }

  // Where the sum is wanted, as the command says.
  static void Place(std::istream& words, hoplite::ReduceOptions& options) {
    const auto where = Word<std::string>(words);
    options.root_here = where == "here";
    options.everyone_reads = where == "everywhere";
    if (!options.root_here && !options.everyone_reads && where != "anywhere") {
      throw std::runtime_error("the sum is made here, anywhere or everywhere");
    }
  }

  static void CheckBytes(const hoplite::Buffer& view, std::span<const std::byte> source) {
    if (view.size() != source.size() ||
        std::memcmp(view.bytes().data(), source.data(), source.size()) != 0)
      throw std::runtime_error("wrong bytes");
  }

  static void CheckTotal(const hoplite::Buffer& view, std::size_t count, std::size_t bytes) {
    Compare(view, bytes, [&](std::size_t place) { return hoplite::bench::Total(count, place); });
  }

  std::unique_ptr<hoplite::Directory> directory_;
  std::unique_ptr<hoplite::Node> node_;
  std::optional<hoplite::Client> client_;
  std::optional<hoplite::Reduction> begun_;
  std::vector<std::byte> source_;
  std::vector<float> array_;
  std::size_t array_rank_ = 0;
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
                                   {"fill", bind(&Driver::Fill)},
                                   {"get", bind(&Driver::Get)},
                                   {"round_trips", bind(&Driver::RoundTrips)},
                                   {"wait", bind(&Driver::Wait)},
                                   {"delete", bind(&Driver::Delete)},
                                   {"link", bind(&Driver::Link)},
                                   {"prepare_source", bind(&Driver::PrepareSource)},
                                   {"source", bind(&Driver::PutSource)},
                                   {"reduce", bind(&Driver::Reduce)},
                                   {"begin_reduce", bind(&Driver::BeginReduce)},
                                   {"total", bind(&Driver::Total)},
                                   {"collect", bind(&Driver::Collect)},
                                   {"follow", bind(&Driver::Follow)},
                                   {"reduce_first", bind(&Driver::ReduceFirst)},
                                   {"follow_total", bind(&Driver::FollowTotal)},
                                   {"feeds", bind(&Driver::Feeds)}});
}
