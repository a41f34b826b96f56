#include "metrics/http.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::metrics {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ScrapeRequest, IsJudgedOnceItsHeadIsWhole) {
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: n1\r\nAccept: */*\r\n\r\n";
  for (std::size_t bytes = 0; bytes < request.size(); ++bytes) {
    EXPECT_EQ(Judge(request.substr(0, bytes)), Verdict::kUnfinished) << bytes;
  }
  EXPECT_EQ(Judge(request), Verdict::kMetrics);
}

TEST(ScrapeRequest, MayHaveAQueryAndAskForTheHeadOnly) {
  EXPECT_EQ(Judge("GET /metrics?name=x HTTP/1.0\r\n\r\n"), Verdict::kMetrics);
  EXPECT_EQ(Judge("HEAD /metrics HTTP/1.1\r\n\r\n"), Verdict::kHead);
}

TEST(ScrapeRequest, ThatIsForSomethingElseIsTold) {
  EXPECT_EQ(Judge("GET / HTTP/1.1\r\n\r\n"), Verdict::kElsewhere);
  EXPECT_EQ(Judge("GET /metricsx HTTP/1.1\r\n\r\n"), Verdict::kElsewhere);
  EXPECT_EQ(Judge("POST /metrics HTTP/1.1\r\n\r\n"), Verdict::kOtherMethod);
}

TEST(ScrapeRequest, ThatIsNoneIsMalformed) {
  for (const char* text : {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n",
                           "GET /metrics HTTP/2\r\n\r\n", " /metrics HTTP/1.1\r\n\r\n"}) {
    EXPECT_EQ(Judge(text), Verdict::kMalformed) << text;
  }
  EXPECT_EQ(Judge(std::string(kMaxHeadBytes - 1, 'x')), Verdict::kUnfinished);
  EXPECT_EQ(Judge(std::string(kMaxHeadBytes, 'x')), Verdict::kMalformed);
}

TEST(ScrapeAnswer, SaysItsLengthAndEndsTheConnection) {
  const std::string answer = AnswerTo(Verdict::kMetrics, "a 1\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4;"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 4\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\nConnection: close\r\n\r\na 1\n"));
}

TEST(ScrapeAnswer, ToHeadHasTheLengthWithoutTheBody) {
  const std::string answer = AnswerTo(Verdict::kHead, "a 1\n");
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 4\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST(ScrapeAnswer, ToAnythingElseHasNoMetrics) {
  for (const Verdict verdict :
       {Verdict::kElsewhere, Verdict::kOtherMethod, Verdict::kMalformed, Verdict::kUnfinished}) {
    const std::string answer = AnswerTo(verdict, "a 1\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 4"));
    EXPECT_THAT(answer, Not(HasSubstr("a 1")));
  }
}

}  // namespace
}  // namespace hoplite::metrics
