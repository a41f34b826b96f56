// PageToken: who may look at a page: whoever reaches it, or who knows its token. The page is opened once
// with the token in its address; the answer is a cookie, and the address without the token.
#pragma once

#include <string>

#include <hoplite/result.h>

#include "metrics/http.h"

namespace hoplite::cli::web {

class PageToken {
 public:
  // An empty one is asked for by nobody. `address`: HOST:PORT of the page, since a host's pages share
  // their cookies.
  PageToken(std::string token, const std::string& address);

  bool asked() const { return !token_.empty(); }
  // By a cookie, or by "Authorization: Bearer TOKEN", which is for programs.
  bool ShownBy(const metrics::Request& request) const;
  // In the address, as "?token=TOKEN".
  bool BroughtBy(const metrics::Request& request) const;
  // The line of the answer's head that has a browser keep it. `secure`: the page has TLS.
  std::string CookieLine(bool secure) const;

 private:
  const std::string token_;
  const std::string cookie_;  // its name
};

// 16 to 256 letters, digits, '-' and '_', which an address and a cookie may have as they are.
//   invalid_argument  the file can't be read, others may read it, or it holds something else
Result<std::string> ReadToken(const std::string& path, bool readable);

}  // namespace hoplite::cli::web
