// A program that uses the library as a user would, at moments that the comparison names: one
// process on each host, which is the directory or a node.
//
//   directory ADDRESS MILLISECONDS           {"address":HOST:PORT}; collects first for so long
//   node NAME ADDRESS DIRECTORY MEMORY       {"address":HOST:PORT}
//   prepare BYTES                            {}: makes what puts store, which takes a while
//   put NAME COUNT BYTES MOMENT STEP         {"begins":[...],"ends":[...]}
//   fill NAME COUNT BYTES                    {}: puts as well, many at a time
//   get NAME COUNT BYTES MOMENT STEP         as put
//   round_trips NAME COUNT BYTES MOMENT FIRST
//                                            COUNT, each of two objects: the first host puts one
//                                            and gets the other, the second host gets and puts
//   wait NAME SECONDS                        {}: a get of what never comes, for so long
//   delete NAME COUNT                        {}
//
//   prepare_source RANK BYTES                {}: makes that host's array of float32
//   source NAME RANK BYTES MOMENT            as put: the array, as object NAME-RANK
//   reduce NAME COUNT BYTES MOMENT DEGREE ROOT_HERE
//                                            the sum of NAME-0 ... as NAME-COUNT, until it is here
//   begin_reduce NAME COUNT                  {}: the same sum, for whoever gets it
//   total NAME COUNT BYTES MOMENT            gets NAME-COUNT, the sum
//   collect NAME FIRST COUNT BYTES MOMENT    gets NAME-FIRST ... NAME-(COUNT - 1), all at once
//
//   follow NAME BYTES MOMENT                 reads NAME-0 while it comes, and tells how it came
//   reduce_first NAME COUNT NEEDED BYTES MOMENT
//                                            the sum of NEEDED of NAME-0 ... as NAME-COUNT,
//                                            likewise
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
#include <type_traits>
#include <utility>
#include <vector>

#include <hoplite/hoplite.h>

#include "agent.h"

namespace {

using hoplite::bench::Element;
using hoplite::bench::JsonArray;
using hoplite::bench::Nanoseconds;
using hoplite::bench::Now;
using hoplite::bench::SleepUntil;
using hoplite::bench::Word;

constexpr std::chrono::seconds kTimeout{100};
constexpr std::size_t kPutsAtOnce = 256;
constexpr Nanoseconds kLook = 10'000'000;  // from one look at what has come to the next

template <typename T>
T Value(hoplite::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().ToString());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Parts of a text between commas.
std::vector<std::string> Listed(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, ',');) parts.push_back(part);
  return parts;
}

std::string Address(const std::string& address) { return "\"address\":\"" + address + "\""; }

hoplite::ObjectId Numbered(const std::string& name, std::size_t index) {
  return hoplite::ObjectId::FromName(name + "-" + std::to_string(index));
}

// The answer about an operation that began and ended once.
std::string Moments(Nanoseconds begin, Nanoseconds end) {
  return "\"begins\":" + JsonArray({begin}) + ",\"ends\":" + JsonArray({end});
}

// Whether the bytes are the float32 that `expected` gives for every place, and no more.
template <typename Expected>
void Compare(const hoplite::Buffer& view, std::size_t bytes, Expected expected) {
  if (view.size() != bytes) throw std::runtime_error("wrong size");
  for (std::size_t i = 0; i < bytes / sizeof(float); ++i) {
    float value = 0;
    std::memcpy(&value, &view.bytes()[i * sizeof value], sizeof value);
    if (value != expected(i)) throw std::runtime_error("wrong number at " + std::to_string(i));
  }
}

// Follows how an object comes, until all of it can be read.
class Arrival {
 public:
  Arrival(hoplite::Client& client, const hoplite::ObjectId& id) : client_(client), id_(id) {}

  // Returns when the object is final. After a recall it reads the next version.
  void Follow() {
    const Nanoseconds begin = Now();
    Note(begin, 0);
    while (!ReadOneVersion()) {
    }
    moments_ = Moments(begin, times_.back());
  }

  // The object as it was read at last, pinned.
  hoplite::Buffer Bytes() const { return Value(client_.Get(id_, {.timeout = kTimeout})); }
  std::string Answer() const {
    return moments_ + ",\"times\":" + JsonArray(times_) + ",\"bytes\":" + JsonArray(bytes_);
  }

 private:
  bool ReadOneVersion() {
    auto reader = Value(client_.Open(id_, {.timeout = kTimeout}));
    for (std::uint64_t have = 0;;) {
      const std::uint64_t wanted = std::min(have + 1, reader.size());
      const auto prefix = reader.WaitFor(wanted, kTimeout);
      if (!prefix && prefix.error().code == hoplite::ErrorCode::kRecalled) {
        Note(Now(), 0);
        return false;
      }
      have = Value(prefix).size();
      Note(Now(), have);
      if (wanted == reader.size()) return true;  // the end was waited for, so it is final
      if (have < reader.size()) SleepUntil(Now() + kLook);
    }
  }

  void Note(Nanoseconds time, std::uint64_t bytes) {
    times_.push_back(time);
    bytes_.push_back(static_cast<Nanoseconds>(bytes));
  }

  hoplite::Client& client_;
  const hoplite::ObjectId id_;
  std::string moments_;
  std::vector<Nanoseconds> times_;
  std::vector<std::int64_t> bytes_;
};

// The objects NAME-0, NAME-1, … and when each is used.
struct Series {
  explicit Series(std::istream& words) : name(Word<std::string>(words)) {
    count = Word<std::size_t>(words);
    bytes = Word<std::size_t>(words);
    moment = Word<Nanoseconds>(words);
    step = Word<Nanoseconds>(words);
  }

  hoplite::ObjectId Id(std::size_t index) const { return Numbered(name, index); }

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
    config.recovery_window = std::chrono::milliseconds(Word<int>(words));
    directory_ = Value(hoplite::Directory::Start(config));
    return Address(directory_->address());
  }

  std::string Node(std::istream& words) {
    hoplite::NodeConfig config;
    config.name = Word<std::string>(words);
    config.listen = Word<std::string>(words);
    config.directory = Listed(Word<std::string>(words));
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
    options.root_here = Word<int>(words) != 0;
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
    begun_.emplace(Value(client().Reduce(SumOf(name, Word<std::size_t>(words)))));
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
    options.root_here = true;
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
        if (child.parent == parent.slot) add(child.node, parent.node);
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
                                   {"prepare_source", bind(&Driver::PrepareSource)},
                                   {"source", bind(&Driver::PutSource)},
                                   {"reduce", bind(&Driver::Reduce)},
                                   {"begin_reduce", bind(&Driver::BeginReduce)},
                                   {"total", bind(&Driver::Total)},
                                   {"collect", bind(&Driver::Collect)},
                                   {"follow", bind(&Driver::Follow)},
                                   {"reduce_first", bind(&Driver::ReduceFirst)},
                                   {"feeds", bind(&Driver::Feeds)}});
}
