// Every call of the client API that may wait, against somebody who answers nothing: each must end
// at its deadline.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <hoplite/client.h>

#include "base/units.h"

namespace hoplite::test {

struct BlockingCall {
  std::string name;
  std::function<std::optional<Error>()> call;  // none: it succeeded
};

template <typename T>
std::optional<Error> ErrorOf(const Result<T>& result) {
  return result ? std::nullopt : std::optional<Error>(result.error());
}

// What was begun while everybody still answered.
struct Begun {
  explicit Begun(Client with)
      : client(std::move(with)),
        draft(client.Create(ObjectId::FromName("draft"), 1_MiB).value()),
        growing(client.Create(ObjectId::FromName("growing"), 1_MiB).value()),
        reader(client.Open(growing.id()).value()),
        subscription(client.Subscribe(draft.id()).value()) {}

  Client client;
  Draft draft;
  Draft growing;
  Reader reader;  // of `growing`
  Subscription subscription;
};

inline std::vector<BlockingCall> BlockingCalls(Begun& begun, std::chrono::milliseconds timeout) {
  Client* client = &begun.client;
  const ObjectId id = ObjectId::FromName("never");
  const CallOptions soon{.timeout = timeout};
  const auto put = [=](std::uint64_t size) {
    return ErrorOf(client->Put(std::string(size, 'x'), {.timeout = timeout}));
  };
  const auto get_into = [=] {
    std::vector<std::byte> room(100);
    return ErrorOf(client->GetInto(id, room, soon));
  };
  const auto get_many_into = [=] {
    std::vector<std::byte> room(200);
    const std::vector<std::span<std::byte>> into{std::span(room).first(100),
                                                 std::span(room).last(100)};
    return ErrorOf(client->GetManyInto(std::vector{id, id}, into, soon).back());
  };
  const auto reduce = [=](std::chrono::milliseconds of_it, std::chrono::milliseconds wait) {
    const auto reduction = client->Reduce({.sources = {id}, .timeout = of_it});
    return reduction ? ErrorOf(reduction->Wait(wait)) : ErrorOf(reduction);
  };
  return {
      {"Put of a small object", [=] { return put(100); }},
      {"Put", [=] { return put(1_MiB); }},
      {"Create", [=] { return ErrorOf(client->Create(id, 1_MiB, {.timeout = timeout})); }},
      {"Seal", [&begun, timeout] { return ErrorOf(begun.draft.Seal(timeout)); }},
      {"Get", [=] { return ErrorOf(client->Get(id, soon)); }},
      {"GetAsync", [=] { return ErrorOf(client->GetAsync(id, soon).Wait()); }},
      {"GetAsync, a shorter Wait", [=] { return ErrorOf(client->GetAsync(id).Wait(timeout)); }},
      {"GetMany", [=] { return ErrorOf(client->GetMany(std::vector{id, id}, soon).back()); }},
      {"GetInto", get_into},
      {"GetManyInto", get_many_into},
      {"Open", [=] { return ErrorOf(client->Open(id, soon)); }},
      {"WaitFor", [&begun, timeout] { return ErrorOf(begun.reader.WaitFor(1_MiB, timeout)); }},
      {"Reduce", [=] { return reduce(timeout, kForever); }},
      {"Reduce, a shorter Wait", [=] { return reduce(kForever, timeout); }},
      {"Delete", [=] { return ErrorOf(client->Delete(id, soon)); }},
      {"Own", [=] { return ErrorOf(client->Own(id, soon)); }},
      {"DeleteAsync", [=] { return ErrorOf(client->DeleteAsync({{id}}, soon).Wait()); }},
      {"OwnAsync", [=] { return ErrorOf(client->OwnAsync({{id}}, soon).Wait()); }},
      {"Info", [=] { return ErrorOf(client->Info(id, soon)); }},
      {"Info of many", [=] { return ErrorOf(client->Info(std::vector{id, id}, soon).back()); }},
      {"Status", [=] { return ErrorOf(client->Status(soon)); }},
      {"Subscribe", [=] { return ErrorOf(client->Subscribe(id, soon)); }},
      {"Next", [&begun, timeout] { return ErrorOf(begun.subscription.Next(timeout)); }},
  };
}

// All at once. Each must fail with `timeout`, not much later than `bound`.
inline void ExpectToEndIn(const std::vector<BlockingCall>& calls, std::chrono::milliseconds bound) {
  using Clock = std::chrono::steady_clock;
  struct Ending {
    std::optional<Error> error;
    Clock::duration took;
  };
  std::vector<std::future<Ending>> running;
  for (const BlockingCall& one : calls) {
    running.push_back(std::async(std::launch::async, [&one] {
      const auto start = Clock::now();
      auto error = one.call();
      return Ending{std::move(error), Clock::now() - start};
    }));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Ending ending = running[i].get();
    EXPECT_LT(ending.took, bound) << calls[i].name;
    ASSERT_TRUE(ending.error) << calls[i].name << " succeeded";
    EXPECT_EQ(ending.error->code, ErrorCode::kTimeout)
        << calls[i].name << ": " << ending.error->ToString();
  }
}

}  // namespace hoplite::test
