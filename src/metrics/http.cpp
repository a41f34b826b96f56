#include "metrics/http.h"

#include <fmt/format.h>

#include "metrics/exposition.h"

namespace hoplite::metrics {
namespace {

constexpr std::string_view kPath = "/metrics";

// What stands before the first `separator`; `rest` is what stands behind it.
std::string_view Cut(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

Verdict JudgeLine(std::string_view line) {
  const std::string_view method = Cut(line, ' ');
  std::string_view target = Cut(line, ' ');
  if (method.empty() || target.empty() || !line.starts_with("HTTP/1.")) return Verdict::kMalformed;
  if (method != "GET" && method != "HEAD") return Verdict::kOtherMethod;
  if (Cut(target, '?') != kPath) return Verdict::kElsewhere;
  return method == "HEAD" ? Verdict::kHead : Verdict::kMetrics;
}

std::string Answer(std::string_view status, std::string_view type, std::string_view body,
                   std::string_view more = "") {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n{}",
      status, type, body.size(), more, body);
}

}  // namespace

Verdict Judge(std::string_view begun) {
  const std::size_t head = begun.find("\r\n\r\n");
  if (head != std::string_view::npos) return JudgeLine(begun.substr(0, begun.find('\r')));
  return begun.size() < kMaxHeadBytes ? Verdict::kUnfinished : Verdict::kMalformed;
}

std::string AnswerTo(Verdict verdict, std::string_view text) {
  constexpr std::string_view kWords = "text/plain; charset=utf-8";
  switch (verdict) {
    case Verdict::kMetrics:
      return Answer("200 OK", kContentType, text);
    case Verdict::kHead: {
      std::string answer = Answer("200 OK", kContentType, text);
      answer.resize(answer.size() - text.size());
      return answer;
    }
    case Verdict::kElsewhere:
      return Answer("404 Not Found", kWords, "the metrics are at /metrics\n");
    case Verdict::kOtherMethod:
      return Answer("405 Method Not Allowed", kWords, "only GET and HEAD are answered\n",
                    "Allow: GET, HEAD\r\n");
    case Verdict::kUnfinished:
    case Verdict::kMalformed:
      break;
  }
  return Answer("400 Bad Request", kWords, "this is no request of HTTP/1\n");
}

}  // namespace hoplite::metrics
