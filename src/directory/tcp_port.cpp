#include "directory/tcp_port.h"

#include <utility>

#include <fmt/format.h>

#include "base/shard_list.h"
#include "base/try.h"
#include "directory/question_line.h"
#include "directory/shard_connection.h"
#include "wire/directory_messages.h"

namespace hoplite::directory {
namespace {

class TcpConnection final : public Connection {
 public:
  explicit TcpConnection(std::shared_ptr<ShardConnection> connection)
      : connection_(std::move(connection)) {}
  ~TcpConnection() override { connection_->Close(); }
  void Send(wire::NodeMessage message) override { connection_->Send(message); }
  void Close() override { connection_->Close(); }

 private:
  const std::shared_ptr<ShardConnection> connection_;
};

class TcpPort final : public ShardPort {
 public:
  TcpPort(asio::io_context& loop, std::string address, net::SecurityPtr security)
      : loop_(loop),
        address_(std::move(address)),
        security_(std::move(security)),
        questions_(std::make_shared<QuestionLine>(loop, address_, security_)) {}
  ~TcpPort() override { Stop(); }

  std::vector<std::string> members() const override { return MembersOf(address_); }
  std::unique_ptr<Connection> Open(const std::string& member, wire::Hello hello,
                                   std::function<void(wire::ShardMessage)> receive) override {
    return std::make_unique<TcpConnection>(
        ShardConnection::Open(loop_, member, security_, std::move(hello), std::move(receive)));
  }

  void Find(const ObjectId& object, Duration timeout,
            std::function<void(Result<protocol::ObjectView>)> done) override {
    v1::NodeMessage question;
    question.mutable_info()->set_object(std::string(object.view()));
    questions_->Ask(
        std::move(question), timeout,
        [address = address_, done = std::move(done)](const Result<v1::ShardMessage*>& answer) {
          done(ReadInfo(address, answer));
        });
  }

  void Status(const protocol::PageRequest& page, Duration timeout,
              std::function<void(Result<protocol::StatusPage>)> done) override {
    v1::NodeMessage question;
    *question.mutable_status() = wire::ToProto(page);
    questions_->Ask(
        std::move(question), timeout,
        [address = address_, done = std::move(done)](const Result<v1::ShardMessage*>& answer) {
          done(ReadStatus(address, answer));
        });
  }

  void Stop() override { questions_->Stop(); }

 private:
  static Error WhyNot(const std::string& address, const v1::ShardMessage& answer) {
    const Result<wire::NoAnswer> failure = wire::FromProto(answer.failure());
    const Error& why = failure ? failure->error : failure.error();
    return {why.code, fmt::format("directory shard {}: {}", address, why.message)};
  }
  static Result<protocol::ObjectView> ReadInfo(const std::string& address,
                                               const Result<v1::ShardMessage*>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (!(*answer)->has_info()) return std::unexpected(WhyNot(address, **answer));
    return wire::FromProto((*answer)->info().object());
  }
  static Result<protocol::StatusPage> ReadStatus(const std::string& address,
                                                 const Result<v1::ShardMessage*>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (!(*answer)->has_status()) return std::unexpected(WhyNot(address, **answer));
    return wire::FromProto((*answer)->status());
  }

  asio::io_context& loop_;
  const std::string address_;  // of all members
  const net::SecurityPtr security_;
  const std::shared_ptr<QuestionLine> questions_;
};

}  // namespace

std::unique_ptr<ShardPort> MakeTcpPort(asio::io_context& loop, std::string address,
                                       net::SecurityPtr security) {
  return std::make_unique<TcpPort>(loop, std::move(address), std::move(security));
}

}  // namespace hoplite::directory
