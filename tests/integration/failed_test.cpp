// Objects that have an error in the place of bytes (R69).
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/sums.h"
#include "protocol/failure.h"

namespace hoplite {
namespace {

using testing::Cluster;
using ::testing::EndsWith;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::kSoon;
using namespace std::chrono_literals;

template <typename T>
Error ErrorOf(const Result<T>& result) {
  EXPECT_FALSE(result);
  return result ? Error(ErrorCode::kInternal, "there was no error") : result.error();
}

class FailedObject : public ::testing::Test {
 protected:
  void Fail() {
    const auto failed = here_.Fail(id_, why_, {.timeout = kSoon.timeout});
    ASSERT_TRUE(failed) << failed.error().ToString();
  }

  Cluster cluster_{{.nodes = 2, .memory_bytes = 32_MiB}};
  Client here_ = cluster_.client(0);
  Client there_ = cluster_.client(1);
  const ObjectId id_ = ObjectId::FromName("the result of a task");
  const Error why_{ErrorCode::kFailed, "ValueError: no luck\n  in line 7"};
};

TEST_F(FailedObject, WhoWaitsAndWhoAsksLaterIsToldTheError) {
  auto waits = there_.GetAsync(id_, kSoon);
  ASSERT_TRUE(Eventually([&] {
    const auto view = cluster_.Find(id_);
    return view && !view->waiters.empty();
  }));
  Fail();
  EXPECT_EQ(ErrorOf(waits.Wait()), why_);
  for (Client* client : {&here_, &there_}) {
    std::vector<std::byte> room(10);
    EXPECT_EQ(ErrorOf(client->Get(id_, kSoon)), why_);
    EXPECT_EQ(ErrorOf(client->GetInto(id_, room, kSoon)), why_);
    EXPECT_EQ(ErrorOf(client->Open(id_, kSoon)), why_);
    const std::vector<ObjectId> ids{id_};
    EXPECT_EQ(ErrorOf(client->GetMany(ids, kSoon).front()), why_);
    EXPECT_EQ(client->WaitExists(ids, 1, kSoon), ids);
    const auto info = client->Info(id_, kSoon);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->failure, why_);
    EXPECT_EQ(info->metadata, "");
  }
}

TEST_F(FailedObject, OfAPutAndAFailTheFirstCounts) {
  Fail();
  EXPECT_EQ(ErrorOf(there_.Put("bytes", {.id = id_})).code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(ErrorOf(there_.Fail(id_, why_)).code, ErrorCode::kAlreadyExists);
  const auto put = there_.Put("bytes");
  ASSERT_TRUE(put);
  EXPECT_EQ(ErrorOf(here_.Fail(*put, why_)).code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(here_.Get(*put, kSoon));
}

TEST_F(FailedObject, AReductionOfItFailsAndNamesIt) {
  auto sum = there_.Reduce({.sources = {testing::IdOf(0), id_}, .dtype = DType::kInt64});
  auto reads = here_.GetAsync(sum->target(), kSoon);
  Fail();
  const Error error = ErrorOf(sum->Wait(kSoon.timeout));
  EXPECT_EQ(error.code, ErrorCode::kFailed);
  EXPECT_THAT(error.message, HasSubstr(id_.ToHex() + ", a source, failed: ValueError: no luck"));
  EXPECT_EQ(ErrorOf(reads.Wait()), error);
  // Of the first to come it is none.
  testing::PutSource(here_, 0, 1000);
  const auto first =
      there_.Reduce({.sources = {testing::IdOf(0), id_}, .dtype = DType::kInt64, .num_objects = 1});
  const auto outcome = first->Wait(kSoon.timeout);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->used, std::vector<ObjectId>{testing::IdOf(0)});
}

TEST_F(FailedObject, GoesWhenItIsDeletedOrNobodyOwnsIt) {
  Fail();
  ASSERT_TRUE(there_.Delete(id_, kSoon));
  EXPECT_TRUE(testing::SoonDeleted(here_, id_));
  const ObjectId owned = ObjectId::FromName("owned");
  ASSERT_TRUE(there_.Own(owned, kSoon));
  ASSERT_TRUE(here_.Fail(owned, why_, {.only_if_owned = true}));
  EXPECT_EQ(ErrorOf(there_.Get(owned, kSoon)), why_);
  ASSERT_TRUE(there_.Disown(owned, kSoon));
  EXPECT_TRUE(testing::SoonDeleted(here_, owned));
  EXPECT_EQ(ErrorOf(here_.Fail(ObjectId::Random(), why_, {.only_if_owned = true})).code,
            ErrorCode::kNotFound);
}

TEST_F(FailedObject, OutlivesARestartOfTheDirectory) {
  Fail();
  cluster_.directory().Restart(0);
  EXPECT_EQ(ErrorOf(there_.Get(id_, kSoon)), why_);
}

TEST_F(FailedObject, NoMetadataAndNoBytesMakeOne) {
  const std::string like = protocol::FailureMetadata(why_);
  EXPECT_EQ(ErrorOf(here_.Put("", {.id = id_, .metadata = like})).code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(here_.Fail(id_, {ErrorCode{99}, "no code"})).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(here_.Fail(id_, {ErrorCode::kFailed, "\xff"})).code,
            ErrorCode::kInvalidArgument);
}

TEST_F(FailedObject, KeepsTheBeginningOfALongMessage) {
  std::string long_text;
  while (long_text.size() < 10'000) long_text += "\u00e4";
  ASSERT_TRUE(here_.Fail(id_, {ErrorCode::kFailed, long_text}));
  const std::string kept = ErrorOf(there_.Get(id_, kSoon)).message;
  EXPECT_GT(kept.size(), 4000);
  EXPECT_TRUE(long_text.starts_with(kept));
  EXPECT_THAT(kept, EndsWith("\u00e4"));
}

}  // namespace
}  // namespace hoplite
