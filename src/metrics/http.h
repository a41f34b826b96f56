// As much of HTTP as a scrape and a page need: one request without a body, one answer, then the
// connection ends.
//
// Decides: when a request is whole, and what is answered to those that are none. Is told: all bytes that came so far.
// Must never: ask for more than kMaxHeadBytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <hoplite/result.h>

#include "base/units.h"

namespace hoplite::metrics {

inline constexpr std::size_t kMaxHeadBytes = 8_KiB;

struct Request {
  std::string method;
  std::string path;
  std::string query;  // behind the question mark, as it was sent
  std::string host;   // with its port, as it was sent; empty: the head has none
  // As they were sent; empty: the head has none.
  std::string cookie = {};
  std::string authorization = {};
};
// None: more has to come. protocol: this is no request of HTTP/1, or it is too long.
std::optional<Result<Request>> ReadRequest(std::string_view begun);

// Of fields and hosts: capitals make no difference.
bool SameName(std::string_view a, std::string_view b);

// What every answer begins with: a browser is to take it for nothing but its type. `more`: further
// lines of the head, each with its end.
std::string HeadOf(std::string_view status, std::string_view type, std::string_view more);
// All bytes of an answer.
std::string Answer(std::string_view status, std::string_view type, std::string_view body,
                   std::string_view more = "");
// The same to a request of this method: HEAD gets no body.
std::string AnswerTo(const Request& request, std::string_view status, std::string_view type,
                     std::string_view body, std::string_view more = "");
// Why there is nothing else to answer: the request is none, or has another method than GET and HEAD;
// none: neither.
std::optional<std::string> Refusal(const Result<Request>& request);
// Of what is not there; `where` says what is.
std::string NotThere(std::string_view where);

}  // namespace hoplite::metrics
