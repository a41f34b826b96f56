// Each call that returns a Future does what its namesake that waits does; what goes into objects, and
// comes out of them, as a program has it.
#include <chrono>
#include <complex>
#include <future>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "base/units.h"
#include "testing/attached_test.h"
#include "testing/bytes.h"
#include "testing/eventually.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

class AsynchronousTest : public AttachedTest {
 protected:
  const ObjectId id_ = ObjectId::Random();
  const std::vector<std::byte> bytes_ = Pattern(3_MiB);
};

HOPLITE_TEST_BOTH_WAYS(AsynchronousTest);

TEST_P(AsynchronousTest, CreateFillSealOpen) {
  auto opened = client_.OpenAsync(id_);
  EXPECT_FALSE(opened.ready());
  auto created = client_.CreateAsync(id_, bytes_.size());
  Draft draft = created.Wait(10s).value();
  EXPECT_EQ(CodeOf(created.Wait()), ErrorCode::kInvalidArgument) << "it can be had once";
  std::ranges::copy(bytes_, draft.data().begin());
  const auto sealed = draft.SealAsync();
  EXPECT_TRUE(draft.data().empty());
  EXPECT_EQ(sealed.Wait(10s), id_);
  Reader reader = opened.Wait(10s).value();
  EXPECT_TRUE(Equal(reader.WaitFor(bytes_.size()).value(), bytes_));
  EXPECT_EQ(CodeOf(client_.CreateAsync(id_, 8).Wait(10s)), ErrorCode::kAlreadyExists);
}

TEST_P(AsynchronousTest, ASealThatNobodyWaitsForIsDone) {
  {
    const auto sealed = client_.Create(id_, 8).value().SealAsync();
    EXPECT_TRUE(Eventually([&] { return sealed.ready(); }));
  }
  EXPECT_EQ(client_.Get(id_, {.timeout = 10s}).value().size(), 8U);
}

TEST_P(AsynchronousTest, ADraftWhoseFutureWentIsAborted) {
  const std::uint64_t before = node_.used_bytes();
  {
    const auto created = client_.CreateAsync(id_, 1_MiB);
  }
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == before; }));
}

TEST_P(AsynchronousTest, GetMany) {
  const std::vector<ObjectId> ids{id_, ObjectId::Random(), ObjectId::Random()};
  ASSERT_TRUE(client_.Put("zero", {.id = ids[0]}));
  ASSERT_TRUE(client_.Put("two", {.id = ids[2]}));
  const auto some = client_.GetManyAsync(ids, {.timeout = 100ms}).Wait(10s);
  ASSERT_TRUE(some) << some.error();
  EXPECT_EQ(Text((*some)[0]), "zero");
  EXPECT_EQ(CodeOf((*some)[1]), ErrorCode::kTimeout);
  EXPECT_EQ(Text((*some)[2]), "two");
  const auto all = client_.GetManyAsync(ids);
  ASSERT_TRUE(client_.Put("one", {.id = ids[1]}));
  EXPECT_EQ(Text(all.Wait(10s).value()[1]), "one");
}

TEST_P(AsynchronousTest, GetIntoAndPrefetch) {
  std::vector<std::byte> into(bytes_.size());
  const auto got = client_.GetIntoAsync(id_, into);
  const auto here = client_.Prefetch(id_);
  EXPECT_FALSE(got.ready());
  ASSERT_TRUE(Attach().Put(std::span(bytes_), {.id = id_}));
  EXPECT_EQ(got.Wait(10s), bytes_.size());
  EXPECT_TRUE(Equal(into, bytes_));
  EXPECT_TRUE(here.Wait(10s));
  EXPECT_EQ(CodeOf(client_.GetIntoAsync(id_, std::span(into).first(8)).Wait(10s)),
            ErrorCode::kInvalidArgument);
}

TEST_P(AsynchronousTest, AGetIntoThatIsGivenUpEndsAtOnce) {
  std::vector<std::byte> into(8);
  auto got = client_.GetIntoAsync(id_, into);
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 1; }));
  got.Cancel();
  EXPECT_EQ(CodeOf(got.Wait(0ms)), ErrorCode::kCancelled);
  {
    const auto forgotten = client_.GetIntoAsync(id_, into);
  }
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 0; }));
}

TEST_P(AsynchronousTest, WaitExists) {
  const std::vector<ObjectId> ids{ObjectId::Random(), id_};
  const auto exists = client_.WaitExistsAsync(ids, 1);
  EXPECT_FALSE(exists.ready());
  ASSERT_TRUE(client_.Put("here", {.id = id_}));
  EXPECT_THAT(exists.Wait(10s).value(), testing::ElementsAre(id_));
  EXPECT_EQ(CodeOf(client_.WaitExistsAsync(ids, 3).Wait(10s)), ErrorCode::kInvalidArgument);
}

TEST_P(AsynchronousTest, TheBytesOfAPutMayBeItsOwn) {
  std::vector<float> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const std::vector<float> wanted = numbers;
  const ObjectId vector = client_.PutAsync(std::move(numbers)).Wait(10s).value();
  const Buffer floats = client_.Get(vector).value();
  EXPECT_TRUE(std::ranges::equal(floats.as<float>().value(), wanted));
  const ObjectId text = client_.PutAsync(std::string("text")).Wait(10s).value();
  EXPECT_EQ(Text(client_.Get(text)), "text");
  auto array = std::make_unique<int[]>(3);
  array[2] = 7;
  const ObjectId few = client_.PutAsync(std::move(array), 3).Wait(10s).value();
  const Buffer ints = client_.Get(few).value();
  EXPECT_EQ(ints.as<int>().value()[2], 7);
}

// The deleter runs once, before the future is ready, and on no thread that holds a lock: it may make
// calls that return at once.
TEST_P(AsynchronousTest, TheDeleterRunsWhenTheBytesAreCopied) {
  for (const std::size_t size : {std::size_t{8}, bytes_.size()}) {
    std::atomic<int> deleted{0};
    auto owner =
        std::shared_ptr<const std::byte[]>(new std::byte[size](), [&](const std::byte* all) {
          ++deleted;
          (void)client_.node_name();
          delete[] all;
        });
    const std::span<const std::byte> bytes(owner.get(), size);
    const auto put = client_.PutAsync(std::move(owner), bytes);
    EXPECT_TRUE(put.Wait(10s));
    EXPECT_EQ(deleted, 1) << size;
  }
}

TEST_P(AsynchronousTest, TheDeleterRunsAlsoOfAPutThatFailsOrIsGivenUp) {
  ASSERT_TRUE(client_.Put("here", {.id = id_}));
  std::atomic<int> deleted{0};
  const auto owned = [&] {
    return std::shared_ptr<const void>(nullptr, [&](const void*) {
      std::this_thread::sleep_for(20ms);  // a future that is ready too early is seen
      ++deleted;
    });
  };
  {
    const auto put = client_.PutAsync(owned(), std::span(bytes_), {.id = id_});
    EXPECT_EQ(CodeOf(put.Wait(10s)), ErrorCode::kAlreadyExists);
  }
  EXPECT_EQ(deleted, 1);
  client_.PutAsync(owned(), std::span(bytes_)).Cancel();
  EXPECT_TRUE(Eventually([&] { return deleted == 2; }));
}

struct Point {
  double x = 0;
  int count = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

TEST_P(AsynchronousTest, StructsAreTheirBytes) {
  const ObjectId one = client_.Put(Point{1.5, 2}).value();
  const Buffer first = client_.Get(one).value();
  EXPECT_EQ(first.as<Point>().value().front(), (Point{1.5, 2}));
  const std::vector<Point> points{{1, 2}, {3, 4}};
  const Buffer many = client_.Get(client_.Put(points).value()).value();
  EXPECT_TRUE(std::ranges::equal(many.as<Point>().value(), points));
  std::vector<Point> into(2);
  EXPECT_EQ(client_.GetInto(many.id(), into), 2 * sizeof(Point));
  EXPECT_EQ(into, points);
  const std::vector<std::complex<float>> waves{{1, 2}, {3, 4}};
  const Buffer got = client_.Get(client_.Put(waves).value()).value();
  EXPECT_EQ(got.as<std::complex<float>>().value()[1], waves[1]);
  const Buffer three = first.Part({.size = 3}).value();
  EXPECT_EQ(CodeOf(three.as<float>()), ErrorCode::kInvalidArgument);
}
static_assert(!Plain<std::span<const std::byte>> && !Plain<std::string_view>);
static_assert(!Storable<std::string> && !Storable<int*>);

TEST_P(AsynchronousTest, AGetOfARange) {
  ASSERT_TRUE(client_.Put("0123456789", {.id = id_}));
  EXPECT_EQ(Text(client_.Get(id_, {.offset = 2, .size = 3})), "234");
  EXPECT_EQ(Text(client_.Get(id_, {.offset = 7})), "789");
  EXPECT_EQ(Text(client_.Get(id_, {})), "0123456789") << "options, and no range";
  const Buffer part = client_.Get(id_, {.offset = 2, .size = 6}, {.timeout = 10s}).value();
  EXPECT_EQ(Text(part.Part({.offset = 1, .size = 2})), "34");
  EXPECT_EQ(part.Part({.offset = 6}).value().size(), 0U);
  EXPECT_EQ(CodeOf(part.Part({.offset = 7})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(part.Part({.offset = 6, .size = 1})), ErrorCode::kInvalidArgument);
  PrivateBuffer own = part.MapPrivate().value();
  EXPECT_EQ(own.size(), 6U);
  EXPECT_EQ(static_cast<char>(own.bytes()[0]), '2');
}

template <typename T>
std::string Written(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST(Streams, ShowWhatLogsShow) {
  const ObjectId id = ObjectId::FromName("x");
  EXPECT_EQ(Written(id), id.ToHex());
  EXPECT_EQ(Written(ErrorCode::kPeerLost), "peer_lost");
  EXPECT_EQ(Written(Error(ErrorCode::kTimeout, "late")), "timeout: late");
  EXPECT_EQ(Written(DType::kBFloat16), "bfloat16");
  EXPECT_EQ(Written(Op::kMean), "mean");
  EXPECT_EQ(Written(LocationKind::kComplete), "complete");
  EXPECT_EQ(Written(RegisterNumber{3, 4}), "3.4");
}

}  // namespace
}  // namespace hoplite::test
