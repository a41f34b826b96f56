#include "client/channel/arriving.h"

#include <utility>

#include "base/try.h"
#include "client/convert.h"
#include "client/reader_impl.h"

namespace hoplite::client {

Arriving::Arriving(std::shared_ptr<Connection> connection,
                   std::unique_ptr<ClientAccess::ReaderImpl> reader)
    : connection_(std::move(connection)), reader_(std::move(reader)) {
  if (reader_->bytes().size() >= reader_->size()) return;
  const std::size_t lines = Aligned(reader_->size()) / kPartAlignment;
  memory_ = std::make_unique_for_overwrite<Line[]>(lines);
  into_ = std::as_writable_bytes(std::span(memory_.get(), lines)).first(reader_->size());
}
Arriving::Arriving(Arriving&&) noexcept = default;
Arriving& Arriving::operator=(Arriving&&) noexcept = default;
Arriving::~Arriving() = default;

Result<Arriving> Arriving::Open(std::shared_ptr<Connection> connection, const ObjectId& id,
                                Time deadline) {
  const std::uint64_t made_by = connection->NextId();
  local::Request request;
  request.set_id(made_by);
  request.mutable_open()->set_object(IdBytes(id));
  request.mutable_open()->set_only_if_owned(true);
  request.mutable_open()->set_window(true);
  TRY_ASSIGN(const local::Answer answer, connection->Call(std::move(request), deadline));
  TRY_ASSIGN(auto reader, ClientAccess::MakeReader(connection, id, made_by, answer.view()));
  return Arriving(std::move(connection), std::move(reader));
}

std::uint64_t Arriving::size() const { return reader_->size(); }

Result<std::span<const std::byte>> Arriving::WaitFor(std::uint64_t bytes, Time deadline) {
  if (!memory_) return reader_->WaitFor(bytes, deadline);
  while (copied_ < bytes || (bytes == size() && !reader_->final())) TRY(CopyNext(deadline));
  return into_.first(copied_);
}

Result<void> Arriving::CopyNext(Time deadline) {
  const std::uint64_t next = reader_->NextStep(copied_);
  TRY_ASSIGN(const local::Answer answer,
             connection_->Finish(reader_->Ask(next, copied_, deadline), deadline));
  reader_->Grew(answer, next);
  TRY(reader_->Copy(into_, copied_, reader_->prefix()));
  copied_ = reader_->prefix();
  return {};
}

}  // namespace hoplite::client
