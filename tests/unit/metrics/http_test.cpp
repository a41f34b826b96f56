#include "metrics/http.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::metrics {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

Result<Request> Read(std::string_view text) { return ReadRequest(text).value(); }

TEST(HttpRequest, IsReadOnceItsHeadIsWhole) {
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: n1\r\nAccept: */*\r\n\r\n";
  for (std::size_t bytes = 0; bytes < request.size(); ++bytes) {
    EXPECT_FALSE(ReadRequest(request.substr(0, bytes))) << bytes;
  }
  EXPECT_EQ(Read(request)->method, "GET");
  EXPECT_EQ(Read(request)->path, "/metrics");
}

TEST(HttpRequest, MayHaveAQuery) {
  const auto request = Read("GET /metrics?name=x HTTP/1.0\r\n\r\n");
  EXPECT_EQ(request->path, "/metrics");
  EXPECT_EQ(request->query, "name=x");
}

TEST(HttpRequest, SaysWhichHostItIsFor) {
  EXPECT_EQ(Read("GET / HTTP/1.1\r\nAccept: a\r\nHOST:\t n1:80 \r\nHost: n2\r\n\r\n")->host,
            "n1:80");
  const Request shown =
      *Read("GET / HTTP/1.1\r\nCookie: a=1; b=2\r\nAuthorization: Bearer x\r\n\r\n");
  EXPECT_EQ(shown.cookie, "a=1; b=2");
  EXPECT_EQ(shown.authorization, "Bearer x");
  EXPECT_EQ(Read("GET / HTTP/1.1\r\nX-Host: n1\r\n\r\nHost: n2")->host, "");
}

TEST(HttpRequest, MayNameItsHostInTheTarget) {
  const auto request = Read("GET HTTP://n1:80/metrics?name=x HTTP/1.1\r\nHost: n2\r\n\r\n");
  EXPECT_EQ(request->host, "n1:80");
  EXPECT_EQ(request->path, "/metrics");
  EXPECT_EQ(request->query, "name=x");
  EXPECT_EQ(Read("GET http://n1 HTTP/1.1\r\n\r\n")->path, "/");
  EXPECT_EQ(Read("GET http://n1?x HTTP/1.1\r\n\r\n")->query, "x");
}

TEST(HttpRequest, ThatIsNoneIsRefused) {
  for (const char* text : {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n",
                           "GET /metrics HTTP/2\r\n\r\n", " /metrics HTTP/1.1\r\n\r\n"}) {
    EXPECT_FALSE(Read(text)) << text;
    EXPECT_THAT(Refusal(Read(text)).value(), StartsWith("HTTP/1.1 400 "));
  }
  EXPECT_FALSE(ReadRequest(std::string(kMaxHeadBytes - 1, 'x')));
  EXPECT_FALSE(Read(std::string(kMaxHeadBytes, 'x')));
}

TEST(HttpRequest, OnlyGetsAndHeadsAreAnswered) {
  EXPECT_FALSE(Refusal(Read("GET / HTTP/1.1\r\n\r\n")));
  EXPECT_FALSE(Refusal(Read("HEAD / HTTP/1.1\r\n\r\n")));
  EXPECT_THAT(Refusal(Read("POST / HTTP/1.1\r\n\r\n")).value(), StartsWith("HTTP/1.1 405 "));
}

TEST(HttpAnswer, SaysItsLengthAndEndsTheConnection) {
  const std::string answer = AnswerTo({"GET", "/", ""}, "200 OK", "text/plain", "a 1\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 4\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\nConnection: close\r\n\r\na 1\n"));
}

TEST(HttpAnswer, ToHeadHasTheLengthWithoutTheBody) {
  const std::string answer = AnswerTo({"HEAD", "/", ""}, "200 OK", "text/plain", "a 1\n");
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 4\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

}  // namespace
}  // namespace hoplite::metrics
