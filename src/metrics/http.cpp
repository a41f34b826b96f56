#include "metrics/http.h"

#include <algorithm>

#include <fmt/format.h>

namespace hoplite::metrics {
namespace {

constexpr std::string_view kWords = "text/plain; charset=utf-8";

// What stands before the first `separator`; `rest` is what stands behind it.
std::string_view Cut(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

Result<Request> NoRequest() {
  return std::unexpected(Error(ErrorCode::kProtocol, "this is no request of HTTP/1"));
}

// The value of the first line of the head with that name; empty: there is none.
std::string_view Field(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    std::string_view line = Cut(head, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!SameName(Cut(line, ':'), name)) continue;
    while (line.starts_with(' ') || line.starts_with('\t')) line.remove_prefix(1);
    while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
    return line;
  }
  return {};
}

// Of a target in the absolute form (RFC 9112, 3.2.2) its host; `target` is what stands behind that.
std::string_view CutHost(std::string_view& target) {
  constexpr std::string_view kScheme = "http://";
  if (!SameName(target.substr(0, kScheme.size()), kScheme)) return {};
  target.remove_prefix(kScheme.size());
  const std::string_view host = target.substr(0, target.find_first_of("/?"));
  target.remove_prefix(host.size());
  return host;
}

Result<Request> ReadLine(std::string_view line) {
  const std::string_view method = Cut(line, ' ');
  std::string_view target = Cut(line, ' ');
  if (method.empty() || target.empty() || !line.starts_with("HTTP/1.")) return NoRequest();
  const std::string_view host = CutHost(target);
  std::string_view path = Cut(target, '?');
  if (path.empty()) path = "/";
  return Request{std::string(method), std::string(path), std::string(target), std::string(host)};
}

}  // namespace

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::optional<Result<Request>> ReadRequest(std::string_view begun) {
  const std::size_t head = begun.find("\r\n\r\n");
  if (head != std::string_view::npos) {
    Result<Request> request = ReadLine(begun.substr(0, begun.find('\r')));
    if (!request) return request;
    const std::string_view fields = begun.substr(0, head);
    // A host in the target goes before that of the head.
    if (request->host.empty()) request->host = Field(fields, "host");
    request->cookie = Field(fields, "cookie");
    request->authorization = Field(fields, "authorization");
    return request;
  }
  if (begun.size() < kMaxHeadBytes) return std::nullopt;
  return NoRequest();
}

std::string HeadOf(std::string_view status, std::string_view type, std::string_view more) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nX-Content-Type-Options: nosniff\r\n{}"
      "Connection: close\r\n\r\n",
      status, type, more);
}

std::string Answer(std::string_view status, std::string_view type, std::string_view body,
                   std::string_view more) {
  const std::string fields = fmt::format("Content-Length: {}\r\n{}", body.size(), more);
  return HeadOf(status, type, fields).append(body);
}

std::string AnswerTo(const Request& request, std::string_view status, std::string_view type,
                     std::string_view body, std::string_view more) {
  std::string answer = Answer(status, type, body, more);
  if (request.method == "HEAD") answer.resize(answer.size() - body.size());
  return answer;
}

std::optional<std::string> Refusal(const Result<Request>& request) {
  if (!request) return Answer("400 Bad Request", kWords, request.error().message + "\n");
  if (request->method == "GET" || request->method == "HEAD") return std::nullopt;
  return Answer("405 Method Not Allowed", kWords, "only GET and HEAD are answered\n",
                "Allow: GET, HEAD\r\n");
}

std::string NotThere(std::string_view where) {
  return Answer("404 Not Found", kWords, fmt::format("{}\n", where));
}

}  // namespace hoplite::metrics
