// Requests with the rules of a hub: token, redirects, errors explained, retries. Small answers come
// whole; files are fetched by download.h with the same rules.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hub/settings.h"
#include "hub/url.h"

namespace tenon::hub {

/// Why an answer is no success, and whether asking again may help.
struct Refusal {
  Code code = Code::Io;
  std::string text;
  bool may_pass = false;      ///< 408, 429, 5xx
  double retry_seconds = -1;  ///< from Retry-After; negative: not told
};

/// A failure that asking again may mend.
class Passing : public Error {
 public:
  Passing(Code code, const std::string& text, double retry_seconds = -1)
      : Error(code, text), retry_seconds_(retry_seconds) {}
  [[nodiscard]] double retry_seconds() const { return retry_seconds_; }

 private:
  double retry_seconds_;
};

/// Throws Argument for a token that would go to an endpoint without TLS that is not this machine.
void check_token(const Settings& settings);

class Http {
 public:
  Http(const Settings& settings, Watch& watch);

  /// Headers for a request to `url`: the token goes to the endpoint's origin alone.
  [[nodiscard]] std::vector<std::string> headers_for(const Url& url) const;
  /// Explains a status that is neither a success nor a redirect. what: the thing asked for.
  [[nodiscard]] Refusal explain(const HttpHead& head, const Url& url, std::string_view what) const;

  struct Text {
    HttpHead head;
    std::string body;
  };
  /// A small answer. Follows redirects and retries. Throws Error for other statuses than 200, Limit
  /// beyond max_bytes.
  Text get(const std::string& url, std::string_view what, size_t max_bytes);
  /// Bytes [begin, begin + size) of a file, fewer at its end. Otherwise as get.
  std::string get_range(const std::string& url, std::string_view what, uint64_t begin,
                        uint64_t size);

  [[nodiscard]] const Url& endpoint() const { return endpoint_; }
  [[nodiscard]] Transport& transport() { return *transport_; }
  [[nodiscard]] Watch& watch() { return *watch_; }
  [[nodiscard]] const Settings& settings() const { return *settings_; }

  /// Pauses before retry number `attempt` (from 0) after `failure`; rethrows it as an Error if it
  /// was the last or the server wants minutes.
  void pause_or_throw(const Passing& failure, uint32_t attempt);

 private:
  Text get_once(const std::string& url, std::string_view what, size_t max_bytes,
                const std::string& range);
  Text get_with_retries(const std::string& url, std::string_view what, size_t max_bytes,
                        const std::string& range);

  const Settings* settings_;
  Watch* watch_;
  Url endpoint_;
  std::unique_ptr<Transport> transport_;
};

/// A decimal number; false for anything else.
bool read_number(std::string_view text, uint64_t& into);

/// Longest time that a server may ask to wait, in seconds.
inline constexpr double kMaxRetrySeconds = 120;
inline constexpr int kMaxRedirects = 8;

}  // namespace tenon::hub
